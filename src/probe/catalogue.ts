/** All questions in the order of the report, and what is to be made of their answers. */
import { OPEN_QUESTIONS } from './open-questions.ts';
import { POINTS } from './points.ts';
import type { Finding, Question } from './question.ts';
import type { Note } from './notes.ts';

export const QUESTIONS: readonly Question[] = [...OPEN_QUESTIONS, ...POINTS];

export function isQuestion(id: string): boolean {
  return QUESTIONS.some((question) => question.id === id);
}

/** The finding on one question. Without values it was not asked, for the note's reason. */
export function judge(question: Question, note: Note): Finding {
  const { id, assumption } = question;
  const asked = Object.keys(note.values).length > 0;
  const holds = asked && question.holds(note.values);
  const safe = asked ? holds || question.safe === undefined || question.safe(note.values) : null;
  return {
    id,
    question: question.question,
    assumption,
    verdict: !asked ? 'not_asked' : holds ? 'holds' : 'differs',
    safe,
    seen: note.seen.length > 0 ? note.seen.join('; ') : null,
    reason: note.reasons.length > 0 ? note.reasons.join('; ') : null,
    holdfast: safe === false && question.harm !== undefined ? question.harm : question.holdfast,
    values: { ...note.values },
    measured: { ...note.measured },
  };
}
