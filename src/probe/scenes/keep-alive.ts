/** What comes on a stream on which nothing happens. */
import type { Scene } from '../scene.ts';
import { Unasked } from '../unasked.ts';

export const KEEP_ALIVE = ['Q10'] as const;

/** What comes that soon after the opening is a greeting. */
const GREETING_MS = 1000;

export async function keepAlive(scene: Scene): Promise<void> {
  const { stream } = await scene.main();
  const heard = (): number => performance.now() - stream.openedAt;
  const sign = () => stream.signs.find(({ at }) => at - stream.openedAt > GREETING_MS);
  const first = await stream.until(scene.signal, Math.max(0, scene.limits.listenMs - heard()), sign);
  if (first === null) {
    throw new Unasked(`nothing came while a stream was open for ${(heard() / 1000).toFixed(1)} s`);
  }
  const times = stream.signs.map(({ at }) => at).filter((at) => at >= first.at);
  const gaps = times.slice(1).map((at, index) => at - (times[index] ?? at));
  const interval = Math.round(gaps.length === 0 ? first.at - stream.openedAt : Math.max(...gaps));
  scene.note(
    'Q10',
    { keep_alive: first.by },
    `${first.by === 'comments' ? 'a comment' : 'an event'} about every ${(interval / 1000).toFixed(1)} s`,
    { interval_ms: interval },
  );
}
