/** The result of a run as JSON. */
import type { Left } from './ledger.ts';
import type { Finding } from './question.ts';

export interface ProbeReport {
  holdfast_probe: 1;
  base_url_host: string;
  model: string;
  /** ISO 8601. */
  started_at: string;
  seconds: number;
  /** The run was ended early. */
  stopped: boolean;
  requests: number;
  sessions: { created: number; deleted: number; left: Left[] };
  /** As far as they could be counted. */
  turns: number;
  /** Null where the server told none. */
  tokens: number | null;
  /** Ids of the questions whose answer Holdfast does not work with. */
  broken: string[];
  findings: Finding[];
}
