/** Counts what the trip planner's tools did to the world: the lines in its files, one per execution. */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';

import { z } from 'zod';

const BOOKS = ['weather.jsonl', 'holds.jsonl', 'bookings.jsonl'];
const entry = z.object({ call_id: z.string() });

/** Number of effects by call id. A tool that never ran has left no file. */
export async function countEffects(folder: string): Promise<Map<string, number>> {
  const counts = new Map<string, number>();
  for (const book of BOOKS) {
    for (const line of await linesOf(join(folder, book))) {
      const { call_id } = entry.parse(JSON.parse(line));
      counts.set(call_id, (counts.get(call_id) ?? 0) + 1);
    }
  }
  return counts;
}

async function linesOf(path: string): Promise<string[]> {
  try {
    return (await readFile(path, 'utf8')).split('\n').filter((line) => line !== '');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return [];
    throw error;
  }
}
