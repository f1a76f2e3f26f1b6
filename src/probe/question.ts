/** What a question is, what is seen of its answer, and what Holdfast makes of it. */

/** The parts of an answer, by name, in a few fixed words each: equal words are equal behaviour. */
export type Values = Readonly<Record<string, string>>;

/** Numbers that were measured; two runs never agree on them. Milliseconds where the name ends in `_ms`. */
export type Measured = Readonly<Record<string, number>>;

export interface Question {
  /** `Q1`–`Q19`: the open questions of the protocol; `S1`–`S14`: where servers differ; `H1`–`H5`: what Holdfast leans on. */
  id: string;
  question: string;
  /** What Holdfast's documentation, tests and emulator take for granted. */
  assumption: string;
  /** What Holdfast does with it, in any case. */
  holdfast: string;
  /** The parts of a whole answer, each with the words that the assumption states. Empty where nobody can ask. */
  expects: Values;
  /**
   * True when Holdfast works with these values, of which some may be missing; asked only where one is not the
   * expected one. Absent: it always does.
   */
  safe?: (values: Values) => boolean;
  /** What goes wrong where `safe` is false. */
  harm?: string;
  /** Why nobody can ask this in a short and cheap way. Such a question has no scene. */
  unasked?: string;
}

/** What a result may meet that is not awaited any more: after these a read tells what became of it. */
export const RECONCILED = ['taken', 'refused 409', 'refused 400 unknown_call'];

/** True when the part is one of these words, or was not asked. */
export function is(values: Values, part: string, ...words: readonly string[]): boolean {
  const value = values[part];
  return value === undefined || words.includes(value);
}

export interface Finding {
  id: string;
  question: string;
  assumption: string;
  verdict: 'holds' | 'differs' | 'not_asked';
  /** Whether Holdfast works with what was seen; null when nothing was. */
  safe: boolean | null;
  /** What was seen, in words; null when nothing was. */
  seen: string | null;
  /** Why it was not asked, wholly or in part; else null. */
  reason: string | null;
  /** What Holdfast does, or what goes wrong. */
  holdfast: string;
  values: Values;
  measured: Measured;
}
