/** How soon a new session is in the lists, and whether the list by metadata is one. */
import type { Scene } from '../scene.ts';
import { poll } from '../waiting.ts';
import { listIn } from '../wire.ts';

/** How long Holdfast looks for a session whose create was lost. */
const LOOKS_FOR_MS = 3500;
/** The mark of no run at all. */
const NO_RUN = 'none';

export async function listLag(scene: Scene, id: string): Promise<void> {
  const { http, ledger } = scene.context;
  const shows = async (query: string): Promise<boolean> => {
    const path = `/agents/sessions?${query}&limit=100`;
    const answer = await http.send({ method: 'GET', path, signal: scene.signal });
    return listIn(answer, 'the sessions').some((row) => row['id'] === id);
  };
  const first = async (query: string): Promise<{ word: string; ms: number }> => {
    const found = await poll(scene.signal, scene.limits.readMs, async () =>
      (await shows(query)) ? true : undefined,
    );
    if (found === null) return { word: 'too_late', ms: scene.limits.readMs };
    if (found.looks === 1) return { word: 'at_once', ms: 0 };
    return { word: found.ms <= LOOKS_FOR_MS ? 'later' : 'too_late', ms: Math.round(found.ms) };
  };
  const [byMetadata, newest] = await Promise.all([first(ledger.filter()), first('order=desc')]);
  const filters = !(await shows(ledger.filter(NO_RUN)));
  const words = ({ word, ms }: { word: string; ms: number }): string =>
    word === 'at_once' ? 'at once' : word === 'later' ? `after ${ms} ms` : `not within ${ms} ms`;
  scene.note(
    'H1',
    { by_metadata: filters ? byMetadata.word : 'not_filtered', newest: newest.word },
    `by metadata ${filters ? words(byMetadata) : 'every session is listed'}, among the newest ${words(newest)}`,
    { by_metadata_ms: byMetadata.ms, newest_ms: newest.ms },
  );
}
