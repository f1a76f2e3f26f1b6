import { Client, Connection } from '@temporalio/client';
import { unreachable } from './server-errors.ts';
import { temporalSettings } from './settings.ts';

/** Where to connect. What is not given comes from the environment, as for the `temporal` command. */
export interface ConnectOptions {
  /** A profile of `temporal.toml`; default: `TEMPORAL_PROFILE`, else `default`. */
  profile?: string;
  /** host:port; default: `TEMPORAL_ADDRESS`, else the profile's, else localhost:7233. */
  address?: string;
  /** Default: `TEMPORAL_NAMESPACE`, else the profile's, else `default`. */
  namespace?: string;
  /** How long to try, in ms; default 5,000. */
  connectTimeoutMs?: number;
}

const CONNECT_TIMEOUT_MS = 5_000;

/**
 * A Temporal client with the settings of the environment (`TEMPORAL_*` variables and `temporal.toml` profiles).
 * The caller closes its connection.
 * @throws ServerUnavailableError when the settings are wrong or the server does not answer in time
 */
export async function connectClient(options: ConnectOptions = {}): Promise<Client> {
  const settings = temporalSettings(options.profile);
  const address = options.address ?? settings.address;
  const connection = Connection.lazy({
    ...settings.connection,
    address,
    connectTimeout: options.connectTimeoutMs ?? CONNECT_TIMEOUT_MS,
  });
  try {
    await connection.ensureConnected();
  } catch (error) {
    await connection.close();
    throw unreachable(address, error);
  }
  return new Client({ connection, namespace: options.namespace ?? settings.namespace });
}
