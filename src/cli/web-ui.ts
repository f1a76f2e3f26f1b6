import { temporalSettings } from '../client/settings.ts';

const LOCAL = /^(localhost|127\.0\.0\.1|\[::1\])(?::(\d+))?$/;
/** The dev server puts its Web UI a thousand ports above itself. */
const UI_PORT_OFFSET = 1000;

/**
 * Where the Web UI shows a task: at `HOLDFAST_UI_URL`, else at the dev server's or Temporal Cloud's usual place;
 * undefined for any other server.
 */
export function webUiLink(taskId: string): string | undefined {
  const { address, namespace } = temporalSettings();
  const base = process.env['HOLDFAST_UI_URL'] ?? usualPlace(address);
  if (base === undefined) return undefined;
  const path = `namespaces/${encodeURIComponent(namespace)}/workflows/${encodeURIComponent(taskId)}`;
  return `${base.replace(/\/+$/, '')}/${path}`;
}

function usualPlace(address: string): string | undefined {
  const local = LOCAL.exec(address);
  if (local !== null) return `http://localhost:${Number(local[2] ?? 7233) + UI_PORT_OFFSET}`;
  return /\.tmprl\.cloud(:\d+)?$/.test(address) ? 'https://cloud.temporal.io' : undefined;
}
