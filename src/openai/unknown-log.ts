/** Notes what the API is not known to send, each thing once: it is passed by, and somebody may want to know (I12). */
import { isKnown } from '../protocol/known.ts';
import { oneLine } from '../protocol/text.ts';
import type { Session, SessionEvent, Turn } from '../protocol/wire.ts';
import type { Log } from './log.ts';

type Kind = Parameters<typeof isKnown>[0];
const MAX_NOTED = 100;

export class UnknownLog {
  readonly #log: Log;
  readonly #noted = new Set<string>();

  constructor(log: Log) {
    this.#log = log;
  }

  event(event: SessionEvent): void {
    this.#note('event', event.type);
    if (event.item) this.#note('item', event.item.type);
  }

  session(session: Session): void {
    this.#note('session_status', session.status);
    for (const action of session.required_actions ?? []) this.#note('action', action.type);
  }

  turn(turn: Turn): void {
    this.#note('turn_status', turn.status);
  }

  #note(kind: Kind, value: unknown): void {
    const name = oneLine(String(value), 80);
    if (isKnown(kind, name)) return;
    const key = `${kind} ${name}`;
    if (this.#noted.has(key) || this.#noted.size >= MAX_NOTED) return;
    this.#noted.add(key);
    this.#log.info('the API sent something unknown, which is passed by', { kind, value: name });
  }
}
