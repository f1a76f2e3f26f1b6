/**
 * The demo: `./temporal-dev.sh demo`. One agent task with real worker processes, two of which are killed.
 *
 * Needs a Temporal server (`TEMPORAL_ADDRESS`, `TEMPORAL_NAMESPACE`) and an Agents API (`OPENAI_API_KEY`, and
 * `OPENAI_BASE_URL` for any but the real service). Exit code 0 when every promise held, 1 with a plain reason when
 * not, 128 and the signal's number when it was stopped.
 */
import { constants } from 'node:os';

import { webUiLink } from '../../cli/web-ui.ts';
import { temporalSettings } from '../../client/settings.ts';
import { DemoError } from './demo-error.ts';
import { gather } from './evidence.ts';
import { broken, factLines } from './facts.ts';
import { play } from './plot.ts';
import { Stage } from './stage.ts';
import { Story } from './story.ts';

const KEPT = 'Two workers died, and it is still one session, one booking, and every result accepted once.';

const story = new Story();
const stop = new AbortController();
let stopCode = 0;
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
  process.on(signal, () => {
    stopCode ||= 128 + constants.signals[signal];
    stop.abort(new DemoError(`stopped by ${signal}`));
  });
}

/** Tells where to look, plays, shows the facts. Returns what did not hold. */
async function perform(stage: Stage): Promise<string[]> {
  const { config, local, taskId } = stage;
  const { address, namespace } = temporalSettings();
  const webUi = webUiLink(taskId);
  story.title('Holdfast: one agent task, two killed workers');
  story.facts([
    ['Agents API', `${config.baseURL ?? 'https://api.openai.com/v1'}${local ? ' (local, scripted)' : ''}`],
    ['Temporal', `${address}, namespace ${namespace}`],
    ['watch it at', webUi ?? 'set HOLDFAST_UI_URL to the address of the Web UI for a link'],
  ]);
  story.title('What happens');
  const played = await play(stage, story, stop.signal);
  const facts = { ...(await gather(stage, played, stop.signal)), seconds: story.seconds, webUi };
  story.title('Facts');
  story.facts(factLines(facts));
  return broken(facts);
}

async function main(): Promise<number> {
  const stage = await Stage.open();
  let good = false;
  try {
    const problems = await perform(stage);
    good = problems.length === 0;
    story.verdict(good, good ? [KEPT] : problems.map((problem) => `Not as promised: ${problem}.`));
  } catch (error) {
    const reason: unknown = stop.signal.aborted ? stop.signal.reason : error;
    const left = await stage.abandon();
    story.verdict(false, [
      `The demo was not finished: ${reason instanceof Error ? reason.message : String(reason)}`,
      ...(left === null ? [] : [left]),
    ]);
  } finally {
    const failed = !good && !stop.signal.aborted;
    if (failed) story.verdict(false, [`The workers' logs are in ${stage.folder}`]);
    await stage.close({ kill: !good, keepLogs: failed });
  }
  return stopCode || (good ? 0 : 1);
}

try {
  process.exitCode = await main();
} catch (error) {
  process.stderr.write(`demo: ${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
}
