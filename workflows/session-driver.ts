/**
 * Drives one session: decides what is followed, run and posted next, and takes what comes back. Called by the
 * task's loop alone (I8).
 */
import { CancellationScope, isCancellation, sleep, workflowInfo } from '@temporalio/workflow';

import type { FollowOutput, Posting } from '../src/protocol/activities.ts';
import { callKey } from '../src/protocol/calls.ts';
import { inputMessages } from '../src/protocol/inputs.ts';
import { FAILURE, type AgentTaskInput } from '../src/protocol/task.ts';
import { utf8Length } from '../src/protocol/text.ts';
import type { TaskContext } from './context.ts';
import { Outbox, summaryOf } from './outbox.ts';
import { Peek } from './peek.ts';
import { followTurn, postInput, refusal } from './remote.ts';
import { ToolRunner } from './tool-runner.ts';

/** A run that is this many times as long as it should be starts no tool any more, and waits for less to go on. */
const OVERDUE = 2;
/** What the next run is given may take 2 MiB. */
const MAX_SNAPSHOT_BYTES = 1536 * 1024;
/** Between two looks at a session that was told to cancel and still waits for results. */
const CANCEL_LOOK_MS = 500;

export class SessionDriver {
  readonly #context: TaskContext;
  readonly #outbox: Outbox;
  readonly #tools: ToolRunner;
  readonly #peek: Peek;
  /** Holds the activities that may still post the message: a cancelled task calls them back. */
  readonly #messengers = new CancellationScope();
  #held = false;
  #following = false;
  /** Something was posted beside the running follower: what it says about waiting may be older than that. */
  #postedBeside = false;
  #stopping = false;

  constructor(context: TaskContext & { input: AgentTaskInput | undefined }) {
    const { input, state } = context;
    this.#context = context;
    const message = state.messageKey !== '' && input?.input !== undefined ? inputMessages(input.input) : null;
    this.#outbox = new Outbox(context, message);
    this.#tools = new ToolRunner(context);
    this.#peek = new Peek(context);
  }

  /** Nothing is done until `release`: the session may be another task's. */
  hold(): void {
    this.#held = true;
  }

  release(): void {
    this.#held = false;
  }

  /** No tool runs any more. */
  get idle(): boolean {
    return this.#tools.running <= 0;
  }

  /** Begins whatever is due. */
  work(): void {
    if (this.#held) return;
    const { state } = this.#context;
    if (state.cancelRequested) this.#cancel();
    else if (!this.#isOverdue || this.#isQuiet) this.#tools.start();
    if (this.#following) this.#postBeside();
    else this.#follow();
    if (state.blocked && !this.#following) this.#peek.arm();
  }

  /** The outcome is known: running tools are asked to stop, and waited for within a bound. */
  stop(): void {
    if (this.#stopping) return;
    this.#stopping = true;
    this.#tools.stop();
    const bound = sleep(this.#context.opened.settings.cancel_wait_ms, {
      summary: 'limit for running tools to stop',
    }).then(() => this.#tools.giveUp());
    this.#context.background(bound);
  }

  /**
   * True at a safe point past the limit (I10): nothing runs, and nothing saved waits to be confirmed. A run that is
   * overdue takes along what it has saved: the service may not take it for a long time.
   */
  mayContinueAsNew(): boolean {
    const { historyLength, continueAsNewSuggested } = workflowInfo();
    const { state, opened } = this.#context;
    if (!continueAsNewSuggested && historyLength < opened.settings.continue_after_events) return false;
    if (this.#held || state.outcome !== null || state.cancelRequested) return false;
    return this.#isQuiet || (this.#isOverdue && this.#isAtRest && this.#isPortable);
  }

  get #isOverdue(): boolean {
    return workflowInfo().historyLength >= OVERDUE * this.#context.opened.settings.continue_after_events;
  }

  get #isAtRest(): boolean {
    return !this.#following && this.idle && this.#outbox.idle;
  }

  get #isQuiet(): boolean {
    const owed = this.#context.state.calls.inState('running', 'saved', 'posted', 'dropped');
    return this.#isAtRest && owed.length === 0;
  }

  get #isPortable(): boolean {
    const { state, opened } = this.#context;
    return utf8Length(JSON.stringify(state.snapshot(opened))) <= MAX_SNAPSHOT_BYTES;
  }

  /** Cancellation is a message: tell the service, stop the tools, wait for the turn to say how it ended. */
  #cancel(): void {
    if (this.#outbox.cancelling) return;
    this.#outbox.cancel();
    this.#unblock();
    this.#messengers.cancel();
    this.#tools.stop();
    const { session_id, settings } = this.#context.opened;
    const seconds = Math.round(settings.cancel_wait_ms / 1000);
    const message = `the service did not confirm the cancellation within ${seconds} s: the turn may still be running; look at session ${session_id}`;
    const bound = sleep(settings.cancel_wait_ms, { summary: 'limit for the cancellation' }).then(() =>
      this.#context.end({ reason: 'cancel_unconfirmed', error: { code: null, message } }),
    );
    this.#context.background(bound);
  }

  /** Follows the turn when something is to be posted, or to be learned (I9). */
  #follow(): void {
    const { state, opened } = this.#context;
    const postings = this.#outbox.take();
    if (postings.length === 0 && state.blocked && !this.#peek.take()) return;
    this.#following = true;
    this.#postedBeside = false;
    const messages = this.#outbox.unseenMessages();
    const follow = () =>
      followTurn(
        opened.settings,
        summaryOf(postings),
      )({
        session_id: opened.session_id,
        agent: opened.agent,
        turn_id: state.turnId,
        after_turn_id: state.afterTurnId,
        postings,
        known: state.calls.openKeys(),
        unconfirmed: state.calls.inState('posted', 'dropped').map((call) => callKey(call.planned)),
        settled: state.calls.settledKeys(),
        messages,
      });
    // A message that shows no effect is posted again, unless there is a turn.
    const mayPost = hasMessage(postings) || (messages.length > 0 && state.turnId === null);
    const following = mayPost ? this.#messengers.run(follow) : follow();
    const taken = this.#guard(following).then((output) => {
      this.#following = false;
      this.#outbox.release(postings);
      if (output) this.#take(output);
    });
    this.#context.background(taken);
  }

  /** Posts what became due beside a running follower. */
  #postBeside(): void {
    const { state, opened } = this.#context;
    const postings = this.#outbox.take();
    if (postings.length === 0) return;
    this.#postedBeside = true;
    const post = () =>
      postInput(opened.settings, summaryOf(postings))({ session_id: opened.session_id, postings });
    const posting = hasMessage(postings) ? this.#messengers.run(post) : post();
    const taken = this.#guard(posting).then((output) => {
      this.#outbox.release(postings);
      if (!output) return;
      this.#outbox.settle(output.posted);
      for (const key of output.confirmed) state.calls.confirm(key);
      if (output.session_gone) this.#context.end({ reason: 'session_gone', error: null });
      this.#unblock();
    });
    this.#context.background(taken);
  }

  #take(output: FollowOutput): void {
    const { state } = this.#context;
    state.turnId = output.turn_id ?? state.turnId;
    state.others = output.others;
    this.#outbox.settle(output.posted);
    for (const key of output.confirmed) state.calls.confirm(key);
    for (const key of output.required_again) {
      const call = state.calls.get(key) ?? state.calls.reopen(key);
      if (call) this.#outbox.postLater(call);
    }
    for (const planned of output.calls) state.calls.add(planned, Date.now());
    // What is waited for now is something else than before.
    if (output.calls.length + output.posted.length > 0) this.#peek.reset();
    if (output.landed.includes(state.messageKey)) state.message = 'landed';
    switch (output.reason) {
      case 'calls':
      case 'blocked':
        if (output.waiting && !this.#postedBeside) this.#block();
        else this.#unblock();
        break;
      case 'handover':
        this.#unblock();
        break;
      case 'ended':
        if (output.turn) state.addTurn(output.turn);
        if (!this.#followOn(output)) this.#context.end({ reason: 'ended', error: null });
        break;
      default:
        this.#context.end({ reason: output.reason, error: output.error });
    }
  }

  /**
   * True when the turn that ended is not the one that answers our message: it was active before, and either
   * refused the message or ended without it. The message's own turn is still to come (agents-api.md 7).
   */
  #followOn(output: FollowOutput): boolean {
    const { state, opened } = this.#context;
    if (state.cancelRequested || output.turn === null) return false;
    const missed = state.message === 'posted' && output.turn.turn_id === opened.turn_id;
    if (state.message !== 'queued' && !missed) return false;
    state.afterTurnId = output.turn.turn_id;
    state.turnId = output.next_turn_id;
    this.#outbox.messageNow();
    this.#unblock();
    return true;
  }

  #block(): void {
    const { state } = this.#context;
    state.blocked = true;
    // A session that was told to cancel is looked at again soon.
    if (this.#outbox.cancelling)
      this.#context.background(
        sleep(CANCEL_LOOK_MS, { summary: 'next look at the cancelled session' }).then(() => this.#unblock()),
      );
  }

  #unblock(): void {
    this.#context.state.blocked = false;
    this.#peek.reset();
  }

  /** Waits for an activity; its final failure ends the task in plain words, and gives null. So does a call back. */
  async #guard<T>(work: Promise<T>): Promise<T | null> {
    try {
      return await work;
    } catch (error) {
      if (this.#outbox.cancelling && isCancellation(error)) return null;
      const { type, message } = refusal(error);
      const reason = type === FAILURE.apiRefused ? 'api_refused' : 'session_failed';
      this.#context.end({ reason, error: { code: type, message } });
      return null;
    }
  }
}

function hasMessage(postings: readonly Posting[]): boolean {
  return postings.some(({ kind }) => kind === 'message');
}
