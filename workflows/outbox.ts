/**
 * What a task has to post: its message, its saved results, its cancellation. Nothing is posted twice at a time,
 * and nothing is forgotten before the service is known to have it (I3, I4).
 */
import { sleep, uuid4 } from '@temporalio/workflow';

import type { PostOutcome, Posting } from '../src/protocol/activities.ts';
import { callKey } from '../src/protocol/calls.ts';
import { utf8Length, wellFormed } from '../src/protocol/text.ts';
import type { InputMessage } from '../src/protocol/wire.ts';
import type { OpenCall } from './call-book.ts';
import type { TaskContext } from './context.ts';
import { loseOutcome } from './unknown-outcome.ts';

const MAX_PAUSE_MS = 60_000;
/** One activity input may take 2 MiB, all commands of one workflow task 4 MiB: the rest goes with the next. */
const MAX_BATCH_BYTES = 1024 * 1024;
/** A cancel may reach a session just before its turn begins, and then has no effect: it is posted again. */
const CANCEL_AGAIN_MS = 5000;
const CANCEL_REFUSED_MS = 1000;

export class Outbox {
  readonly #context: TaskContext;
  readonly #messages: InputMessage[] | null;
  /** Keys of what is on its way. */
  readonly #inFlight = new Set<string>();
  /** The message was on its way, and no refusal has said that it did not get there. */
  #messageTried = false;
  #cancelKey: string | null = null;
  #cancelTries = 0;
  #cancelAfter = 0;
  #messageFailures = 0;
  #messageAfter = 0;

  /** @param messages the task's input, where it is to be posted. */
  constructor(context: TaskContext, messages: InputMessage[] | null) {
    this.#context = context;
    this.#messages = messages;
  }

  get idle(): boolean {
    return this.#inFlight.size === 0;
  }

  get cancelling(): boolean {
    return this.#cancelKey !== null;
  }

  /** From now on the cancellation is posted, and results no more: the service would refuse them. */
  cancel(): void {
    this.#cancelKey ??= `hf_cancel_${uuid4()}`;
  }

  /** The task's message, while nobody has seen it land. A cancelled task does not care any more. */
  unseenMessages(): { key: string; input: InputMessage[] }[] {
    const { message, messageKey } = this.#context.state;
    if (this.cancelling || message !== 'posted' || !this.#messages) return [];
    return [{ key: messageKey, input: this.#messages }];
  }

  /** Takes out what can be posted now, as much as one activity may carry. It is on its way until `release`. */
  take(): Posting[] {
    const due: Posting[] = [];
    let bytes = 0;
    for (const posting of this.#candidates()) {
      if (this.#inFlight.has(keyOf(posting))) continue;
      bytes += utf8Length(wellFormed(JSON.stringify(posting)));
      if (due.length > 0 && bytes > MAX_BATCH_BYTES) break;
      due.push(posting);
    }
    for (const posting of due) {
      this.#inFlight.add(keyOf(posting));
      if (posting.kind === 'message') this.#messageTried = true;
    }
    return due;
  }

  /** The activity that had these postings has ended, in whatever way. */
  release(postings: readonly Posting[]): void {
    for (const posting of postings) this.#inFlight.delete(keyOf(posting));
  }

  /** Takes what became of postings. */
  settle(outcomes: readonly PostOutcome[]): void {
    const { state } = this.#context;
    for (const { kind, key, outcome, detail } of outcomes) {
      if (kind === 'cancel') {
        // A message that may have been taken may begin its turn yet.
        if (outcome === 'idle' && !this.#messageTried && state.message !== 'posted')
          this.#context.end({ reason: 'cancelled_idle', error: null });
        this.#cancelTries++;
        const pause = outcome === 'unwanted' ? CANCEL_REFUSED_MS : CANCEL_AGAIN_MS;
        this.#cancelAfter = this.#later(pause, 'the cancellation');
      } else if (kind === 'message') {
        if (outcome === 'accepted') state.message = 'posted';
        if (outcome === 'still_required') {
          this.#messageTried = false;
          this.#messageAfter = this.#later(backoff(this.#messageFailures++), 'the message');
        }
        if (outcome === 'refused') {
          this.#context.end({
            reason: 'api_refused',
            error: { code: null, message: detail ?? 'the message was refused' },
          });
        }
      } else {
        const call = state.calls.get(key);
        if (!call) continue;
        if (outcome === 'accepted') call.state = 'posted';
        else if (outcome === 'unwanted') state.calls.drop(call, 'the service no longer waits for it');
        else if (outcome === 'still_required') this.postLater(call);
        else this.#replace(call, detail);
      }
    }
  }

  /** The turn that refused the message is over. */
  messageNow(): void {
    this.#messageAfter = 0;
  }

  /**
   * The service asks still and did not take the result: the same bytes again, later and later (I4). Under a new key,
   * since it may take the old one for a repeat of what it lost (agents-api.md 5.6).
   */
  postLater(call: OpenCall): void {
    call.state = 'saved';
    call.post_after = this.#later(backoff(call.post_failures++), 'the result');
  }

  /** Wakes the loop after a pause; returns when that is. */
  #later(pause: number, what: string): number {
    this.#context.background(sleep(pause, { summary: `before ${what} is posted again` }));
    return Date.now() + pause;
  }

  /** Refused for what it is: the model is told so, in few bytes. After a second refusal a person is asked. */
  #replace(call: OpenCall, detail = 'refused by the service'): void {
    if (call.replaced) {
      // Nothing of ours helps, and the service waits: somebody has to know.
      call.result = null;
      loseOutcome(this.#context, call, `the service refuses its result: ${detail}`);
      return;
    }
    call.replaced = true;
    call.state = 'saved';
    call.note = detail;
    call.result = {
      success: false,
      error: `The result of tool "${call.planned.name}" was refused by the service.`,
    };
  }

  #candidates(): Posting[] {
    const { state } = this.#context;
    const now = Date.now();
    if (this.#cancelKey !== null) {
      if (this.#cancelAfter > now) return [];
      // A new key each time: under the old one the service might take it for a repeat.
      return [
        {
          kind: 'cancel',
          key: this.#cancelTries === 0 ? this.#cancelKey : `${this.#cancelKey}_${this.#cancelTries}`,
        },
      ];
    }
    const postings: Posting[] = [];
    if (state.message === 'queued' && this.#messages && this.#messageAfter <= now) {
      postings.push({ kind: 'message', key: state.messageKey, input: this.#messages });
    }
    for (const { planned, result, post_after, post_failures } of state.calls.inState('saved')) {
      if (result === null || post_after > now) continue;
      const { turn_id, call_id } = planned;
      const repeat = post_failures > 0 ? { repeat: post_failures } : {};
      postings.push({ kind: 'tool_result', turn_id, call_id, result, ...repeat });
    }
    return postings;
  }
}

/** The pause after so many failures, in ms: a second, then twice as long each time, up to a minute. */
function backoff(failures: number): number {
  return Math.min(1000 * 2 ** failures, MAX_PAUSE_MS);
}

function keyOf(posting: Posting): string {
  return posting.kind === 'tool_result' ? callKey(posting) : posting.key;
}

/** For the Web UI: what an activity posts, in a few words. */
export function summaryOf(postings: readonly Posting[]): string {
  const results = postings.filter((posting) => posting.kind === 'tool_result').length;
  const words: string[] = postings
    .filter((posting) => posting.kind !== 'tool_result')
    .map((posting) => posting.kind);
  if (results > 0) words.push(results === 1 ? '1 tool result' : `${results} tool results`);
  return words.length === 0 ? 'follow' : `post ${words.join(', ')}`;
}
