/** What comes on a stream on which nothing happens. */
import type { Scene } from '../scene.ts';
import { Unasked } from '../unasked.ts';

export const KEEP_ALIVE = ['Q10'] as const;

export async function keepAlive(scene: Scene): Promise<void> {
  const { stream } = scene.main();
  const { signal, limits } = scene;
  const heard = performance.now() - stream.openedAt;
  await stream.until(signal, Math.max(0, limits.listenMs - heard), () =>
    stream.comments.length > 0 ? true : undefined,
  );
  const [first, second] = stream.comments;
  if (first === undefined) {
    const seconds = Math.round((performance.now() - stream.openedAt) / 100) / 10;
    throw new Unasked(`no comment came while a stream was open for ${seconds} s`);
  }
  const interval = Math.round(second === undefined ? first - stream.openedAt : second - first);
  scene.note('Q10', { keep_alive: 'comments' }, `a comment about every ${(interval / 1000).toFixed(1)} s`, {
    interval_ms: interval,
  });
}
