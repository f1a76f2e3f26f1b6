/** "Did you mean": the nearest of some known words. */

/**
 * The known word that `word` most probably stands for, or null. Case, `-` and `_` do not count, so `agentId`
 * finds `agent_id`; beyond that one edit per three letters is allowed.
 */
export function nearest(word: string, known: readonly string[]): string | null {
  const wanted = plain(word);
  if (wanted === '' || wanted.length > 40) return null;
  let best: { candidate: string; edits: number } | null = null;
  for (const candidate of known) {
    const edits = distance(wanted, plain(candidate));
    const allowed = Math.max(1, Math.floor(plain(candidate).length / 3));
    if (edits <= allowed && (best === null || edits < best.edits)) best = { candidate, edits };
  }
  return best?.candidate ?? null;
}

function plain(word: string): string {
  return word.toLowerCase().replace(/[-_\s]/g, '');
}

/** Edits between two short words: insertion, deletion, replacement, swap of neighbours. */
function distance(a: string, b: string): number {
  const rows: number[][] = [Array.from({ length: b.length + 1 }, (_, j) => j)];
  for (let i = 1; i <= a.length; i++) {
    const row = [i];
    for (let j = 1; j <= b.length; j++) {
      const replaced = at(rows, i - 1, j - 1) + (a[i - 1] === b[j - 1] ? 0 : 1);
      let edits = Math.min(replaced, at(rows, i - 1, j) + 1, (row[j - 1] ?? 0) + 1);
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]) {
        edits = Math.min(edits, at(rows, i - 2, j - 2) + 1);
      }
      row.push(edits);
    }
    rows.push(row);
  }
  return at(rows, a.length, b.length);
}

function at(rows: number[][], i: number, j: number): number {
  return rows[i]?.[j] ?? 0;
}
