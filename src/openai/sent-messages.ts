/**
 * Messages that were accepted and whose landing is not seen yet. A 202 says neither that the message steered the
 * turn nor that it began one (agents-api.md 5.5): only a user item or a turn does.
 */
import { messageText } from '../protocol/outcome.ts';
import { wellFormed } from '../protocol/text.ts';
import type { InputMessage } from '../protocol/wire.ts';

interface Sent {
  texts: string[];
  input: InputMessage[];
  /** When it was accepted, or handed to this follower, in ms. */
  since: number;
  repeated: boolean;
}

export class SentMessages {
  readonly #sent = new Map<string, Sent>();

  add(message: { key: string; input: InputMessage[] }, now: number): void {
    const texts = message.input.map(({ content }) => wellFormed(messageText(content)));
    this.#sent.set(message.key, { texts, input: message.input, since: now, repeated: false });
  }

  get size(): number {
    return this.#sent.size;
  }

  /** Keys of the messages whose every part is among these texts of user items. */
  landedIn(userTexts: readonly string[]): string[] {
    return [...this.#sent]
      .filter(([, { texts }]) => texts.every((text) => userTexts.includes(text)))
      .map(([key]) => key);
  }

  /**
   * Messages that have shown no effect for `afterMs`, each once: a message that was accepted as the turn ended can
   * be consumed without one (agents-api.md 5.5). The same text goes out under a second key.
   */
  takeLost(now: number, afterMs: number): { key: string; input: InputMessage[] }[] {
    const lost: { key: string; input: InputMessage[] }[] = [];
    for (const [key, sent] of this.#sent) {
      if (sent.repeated || now - sent.since < afterMs) continue;
      sent.repeated = true;
      lost.push({ key: `${key}-2`, input: sent.input });
    }
    return lost;
  }
}
