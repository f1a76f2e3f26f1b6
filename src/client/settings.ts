import { loadClientConnectConfig } from '@temporalio/envconfig';
import type { ClientConnectConfig } from '@temporalio/envconfig';
import { oneLine } from '../protocol/text.ts';
import { ServerUnavailableError } from './errors.ts';

type ConnectionSettings = ClientConnectConfig['connectionOptions'];

/** Where the Temporal server is and how to talk to it. */
export interface TemporalSettings {
  address: string;
  namespace: string;
  /** Key, TLS and metadata, as far as they are set. */
  connection: { [Key in 'apiKey' | 'tls' | 'metadata']?: NonNullable<ConnectionSettings[Key]> };
}

/**
 * The Temporal settings of the environment: `TEMPORAL_*` variables over a profile of `temporal.toml`, the same as
 * for the `temporal` command. Defaults: localhost:7233, namespace `default`.
 * @param profile default: `TEMPORAL_PROFILE`, else `default`
 * @throws ServerUnavailableError with reason `configuration`
 */
export function temporalSettings(profile?: string): TemporalSettings {
  const { connectionOptions, namespace } = load(profile);
  const { address, apiKey, tls, metadata } = connectionOptions;
  return {
    address: address ?? 'localhost:7233',
    namespace: namespace ?? 'default',
    connection: {
      ...(apiKey === undefined ? {} : { apiKey }),
      ...(tls === undefined || tls === null ? {} : { tls }),
      ...(metadata === undefined ? {} : { metadata }),
    },
  };
}

function load(profile: string | undefined): ClientConnectConfig {
  const wanted = profile ?? process.env['TEMPORAL_PROFILE'];
  try {
    try {
      return loadClientConnectConfig(profile === undefined ? {} : { profile });
    } catch (error) {
      // envconfig 1.24 trips over a file that holds no profile at all, for example an empty one.
      if (!(error instanceof TypeError)) throw error;
      if (wanted) throw new Error(`Profile '${wanted}' not found in config data`, { cause: error });
      return loadClientConnectConfig({ disableFile: true });
    }
  } catch (error) {
    const why = oneLine(error instanceof Error ? error.message : String(error), 300);
    throw new ServerUnavailableError('configuration', `the Temporal settings cannot be used: ${why}`, error);
  }
}
