/** All questions in the order of the report, and what is to be made of their answers. */
import { OPEN_QUESTIONS } from './open-questions.ts';
import { POINTS } from './points.ts';
import { is, type Finding, type Question } from './question.ts';
import type { Note } from './notes.ts';

export const QUESTIONS: readonly Question[] = [...OPEN_QUESTIONS, ...POINTS];

export function isQuestion(id: string): boolean {
  return QUESTIONS.some((question) => question.id === id);
}

/** The finding on one question. Nothing but what was noted decides; `fallback` is the reason where none was noted. */
export function judge(question: Question, note: Note, fallback: string): Finding {
  const { id, assumption, expects, unasked } = question;
  const { values } = note;
  const parts = Object.keys(expects);
  const missing = parts.filter((part) => values[part] === undefined);
  const asked = missing.length < parts.length;
  const holds = asked && parts.every((part) => is(values, part, expects[part] ?? ''));
  const safe = asked ? holds || question.safe === undefined || question.safe(values) : null;
  const reasons = note.reasons.length > 0 ? note.reasons.join('; ') : fallback;
  return {
    id,
    question: question.question,
    assumption,
    verdict: !asked ? 'not_asked' : holds ? 'holds' : 'differs',
    safe,
    seen: note.seen.length > 0 ? note.seen.join('; ') : null,
    reason: unasked ?? (missing.length > 0 ? reasons : null),
    holdfast: safe === false && question.harm !== undefined ? question.harm : question.holdfast,
    values: { ...values },
    measured: { ...note.measured },
  };
}
