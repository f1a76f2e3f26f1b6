/** What was seen so far, by question. A question may be answered in parts, by several scenes. */
import type { Measured, Values } from './question.ts';

export interface Note {
  values: Record<string, string>;
  measured: Record<string, number>;
  seen: string[];
  reasons: string[];
}

export class Notes {
  private readonly notes = new Map<string, Note>();

  /** Adds a part of an answer. `seen` is told to people as it is, once. */
  add(id: string, values: Values, seen: string, measured: Measured = {}): void {
    const note = this.of(id);
    Object.assign(note.values, values);
    Object.assign(note.measured, measured);
    if (!note.seen.includes(seen)) note.seen.push(seen);
  }

  /** Says why a question, or a part of it, was not asked. */
  unasked(id: string, reason: string): void {
    const { reasons } = this.of(id);
    if (!reasons.includes(reason)) reasons.push(reason);
  }

  of(id: string): Note {
    const known = this.notes.get(id);
    if (known !== undefined) return known;
    const note: Note = { values: {}, measured: {}, seen: [], reasons: [] };
    this.notes.set(id, note);
    return note;
  }
}
