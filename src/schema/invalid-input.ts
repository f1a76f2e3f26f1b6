import { redact } from '../protocol/secrets.ts';
import { oneLine } from '../protocol/text.ts';

/** One thing that is wrong with a value: where, and what to do about it. */
export interface InputIssue {
  /** For example `input.agent.model` or `input.input[0].content`. */
  path: string;
  problem: string;
}

const MAX_ISSUES = 4;
const MAX_PROBLEM = 300;

/**
 * A task input that cannot be used. Not retryable: the same value is refused every time.
 * The message is one bounded line that names each field and the remedy. Values are not echoed, since an input may
 * hold what nobody wants to see in a log (I11); names of agents, tools and sessions are, without what looks like a key.
 */
export class InvalidInputError extends Error {
  override readonly name = 'InvalidInputError';
  readonly issues: InputIssue[];

  /** One thing wrong, at one place. */
  static at(path: string, problem: string): InvalidInputError {
    return new InvalidInputError([{ path, problem }]);
  }

  constructor(issues: InputIssue[]) {
    const shown = issues.slice(0, MAX_ISSUES).map((issue) => `${issue.path}: ${issue.problem}`);
    if (issues.length > MAX_ISSUES) shown.push(`and ${issues.length - MAX_ISSUES} more`);
    super(shown.map((line) => redact(oneLine(line, MAX_PROBLEM))).join('; '));
    this.issues = issues;
  }
}
