/**
 * Follows one root turn until the workflow has something to decide.
 *
 *   open the stream → post → read session and turn → decide, or listen and read again
 *
 * The stream is opened before anything is posted and before anything is read (I6), so nothing falls between. It
 * only says *when* to look; what is owed and how the turn stands comes from reads (I5, I7). A stream that ends,
 * breaks or falls silent is opened anew and everything is read again; nothing is concluded from it. Reads may be
 * stale: what would be final or would post again needs a second one some time later (I4).
 */
import { faultPoint } from '../faults/fault-point.ts';
import type { FollowInput, FollowOutput, FollowReason, PostOutcome } from '../protocol/activities.ts';
import { callKey, owed, type Owed } from '../protocol/calls.ts';
import { firstTurnAfter, isRoot, isTerminal, sessionEnd } from '../protocol/outcome.ts';
import { Progress } from '../protocol/progress.ts';
import { Settled, Unconfirmed } from '../protocol/unconfirmed.ts';
import type { Session, SessionEvent, Turn } from '../protocol/wire.ts';
import { deliver } from './deliver.ts';
import { EventFeed } from './event-feed.ts';
import type { FollowOptions } from './follow-options.ts';
import { unlessGone } from './gone.ts';
import { NewCalls } from './new-calls.ts';
import { SentMessages } from './sent-messages.ts';
import { sleep } from './sleep.ts';
import { readEndedTurn, shownError } from './turn-report.ts';
import { UnknownLog } from './unknown-log.ts';

/** Calls that belong together may appear one by one: how long to wait for the rest, unless the turn waits. */
const GATHER_MS = 2000;
const GATHER_READ_MS = 200;
/** Between the two reads after which a posted result counts as not taken, or a message as lost. */
const SPACED_READ_MS = 3000;
/** After a read that settled a posted result. */
const CONFIRMED_READ_MS = 5000;
const FIRST_REREAD_MS = 300;
const MAX_REREAD_MS = 15_000;
const GOOD_STREAM_MS = 5000;
const REOPEN_PAUSES_MS = [0, 100, 250, 500, 1000, 2000, 5000];

/** Runs one follower to its end. Throws ApiError when a request failed in a way that this attempt cannot mend. */
export async function followTurn(input: FollowInput, options: FollowOptions): Promise<FollowOutput> {
  const { api, signal } = options;
  let follower = new TurnFollower(input, options);
  return unlessGone(
    { api, sessionId: input.session_id, signal },
    () => {
      // Begun anew, what was posted is posted again: the same bytes under the same keys.
      follower = new TurnFollower(input, options);
      return follower.run();
    },
    ({ code, message }) => follower.output('session_gone', { error: { code, message } }),
  );
}

class TurnFollower {
  readonly #input: FollowInput;
  readonly #options: FollowOptions;
  readonly #started = Date.now();
  readonly #progress = new Progress();
  readonly #unconfirmed: Unconfirmed;
  readonly #settled: Settled;
  readonly #messages = new SentMessages();
  readonly #unknown: UnknownLog;
  readonly #posted: PostOutcome[] = [];
  readonly #confirmed: string[] = [];
  readonly #requiredAgain: string[] = [];
  readonly #calls: NewCalls;
  #turnId: string | null;
  #turnStatus: string | null = null;
  #sessionStatus: string | null = null;
  #environmentError: { code: string | null; message: string } | null = null;
  #others: Owed['others'] = [];
  #gatherSince: number | null = null;
  #rereadAt = Infinity;
  #rereadMs = FIRST_REREAD_MS;
  /** The stream announced something that no read has shown yet: a read may be older than the event. */
  #announced = false;
  /** The last read said that the budget is reached; a second one has to say so too. */
  #overBudget = false;
  #reconnects = -1;

  constructor(input: FollowInput, options: FollowOptions) {
    this.#input = input;
    this.#options = options;
    this.#turnId = input.turn_id;
    this.#calls = new NewCalls([...input.known, ...input.settled], options.plan);
    this.#settled = new Settled(input.settled, SPACED_READ_MS);
    this.#unconfirmed = new Unconfirmed(input.unconfirmed, SPACED_READ_MS);
    this.#unknown = new UnknownLog(options.log);
    for (const message of input.messages) this.#messages.add(message, this.#started);
  }

  async run(): Promise<FollowOutput> {
    const { signal, handover } = this.#options;
    const either = AbortSignal.any([signal, handover]);
    try {
      for (let failures = 0; ; failures++) {
        await sleep(REOPEN_PAUSES_MS[Math.min(failures, REOPEN_PAUSES_MS.length - 1)] ?? 0, either);
        this.#reconnects++;
        const opened = Date.now();
        const output = await this.#listen(either);
        if (output !== 'ended' && output !== 'silent') {
          faultPoint('follow.before_return');
          return output;
        }
        // A silence was pause enough; a stream that lived for a while was a good one, whatever it brought.
        if (output === 'silent') failures = -1;
        else if (Date.now() - opened >= GOOD_STREAM_MS) failures = 0;
      }
    } catch (error) {
      if (signal.aborted) throw signal.reason;
      if (handover.aborted) return this.output('handover');
      throw error;
    }
  }

  /** One connection: returns a decision, or why the stream is to be opened anew. */
  async #listen(signal: AbortSignal): Promise<FollowOutput | 'ended' | 'silent'> {
    const { api, silenceMs, maxMs } = this.#options;
    const feed = await EventFeed.open(api, this.#input.session_id, signal);
    const stop = (): void => feed.nudge();
    signal.addEventListener('abort', stop, { once: true });
    try {
      faultPoint('stream.opened');
      await this.#post(signal);
      if (this.#isInVain) return this.output('blocked');
      let decision = await this.#read(signal);
      let silentAt = Date.now() + silenceMs;
      const endAt = this.#started + maxMs;
      while (!decision) {
        const item = await feed.next(Math.min(silentAt, this.#rereadAt, endAt) - Date.now());
        signal.throwIfAborted();
        if (item.kind === 'ended') {
          this.#options.log.info('event stream ended, opening it again', { why: item.why });
          return 'ended';
        }
        let look = false;
        if (item.kind === 'event') {
          silentAt = Date.now() + silenceMs;
          look = this.#take(item.event);
          for (let more = feed.poll(); more; more = feed.poll()) look = this.#take(more) || look;
        }
        // Times count in a dense stream too, whose next event is always there.
        const now = Date.now();
        if (look || now >= this.#rereadAt) decision = await this.#read(signal);
        else if (now >= endAt) return this.output('handover');
        // A healthy quiet stream and a dead one look the same from here: replace it.
        else if (now >= silentAt) return 'silent';
      }
      return decision;
    } finally {
      signal.removeEventListener('abort', stop);
      feed.close();
    }
  }

  /** No turn will come of what was posted: there is nothing to wait for. */
  get #isInVain(): boolean {
    return this.#posted.some(
      ({ kind, outcome }) => (kind === 'message' && outcome === 'refused') || outcome === 'idle',
    );
  }

  /** Posts what has not been posted yet. A repeat after a reconnect finds nothing left to do. */
  async #post(signal: AbortSignal): Promise<void> {
    const { api, log } = this.#options;
    for (const posting of this.#input.postings.slice(this.#posted.length)) {
      const { session_id: sessionId, after_turn_id: afterTurnId } = this.#input;
      const context = { api, log, signal, sessionId };
      const noTurnYet = this.#turnId === null ? { afterTurnId } : {};
      const outcome = await deliver({ ...context, ...noTurnYet }, posting);
      this.#posted.push(outcome);
      const taken = outcome.outcome === 'accepted' || outcome.outcome === 'unwanted';
      if (!taken) continue;
      // Two reads called an unwanted one settled; if later ones ask for it, it goes out again (I4).
      if (posting.kind === 'tool_result') this.#unconfirmed.add(outcome.key);
      if (posting.kind === 'message') this.#messages.add(posting, Date.now());
    }
  }

  /** Takes an event; true when it is a reason to read the session and the turn. */
  #take(event: SessionEvent): boolean {
    if (!this.#progress.add(event, this.#turnId)) return false;
    this.#unknown.event(event);
    if (event.item) faultPoint('item.seen');
    let look = false;
    if (event.session) {
      this.#sessionStatus = event.session.status;
      look = event.session.status !== 'in_progress';
    } else if (event.turn) {
      // Another agent's turn decides nothing (I7, R11).
      if (isRoot(event.turn)) look = this.#takeTurn(event.turn);
    } else if (event.item?.type === 'function_call') {
      // Not a reason to run anything (I5), but a call may be due whose event was lost.
      this.#lookWithin(500);
    } else if (event.environment) {
      const { status, error } = event.environment;
      if (status === 'failed' || status === 'expired') {
        this.#environmentError = shownError(error?.code ?? status, error?.message ?? `environment ${status}`);
        look = true;
      }
    } else if (event.type === 'error') {
      look = true;
    }
    if (look) {
      this.#announced = true;
      this.#rereadMs = FIRST_REREAD_MS;
    } else if (event.session) {
      this.#announced = false;
    }
    this.#show();
    return look;
  }

  #takeTurn(turn: Turn): boolean {
    if (this.#turnId !== null && turn.id !== this.#turnId) return false;
    if (this.#turnId === null && turn.id === this.#input.after_turn_id) return false;
    this.#turnId ??= turn.id;
    this.#turnStatus = turn.status;
    return isTerminal(turn);
  }

  /** Reads session and turn, then decides. Null: go on listening. */
  async #read(signal: AbortSignal): Promise<FollowOutput | null> {
    const { api } = this.#options;
    const { session_id } = this.#input;
    this.#rereadAt = Infinity;
    const [session, turn] = await Promise.all([
      api.getSession(session_id, signal),
      this.#turnId === null ? this.#newTurn(signal) : api.findTurn(session_id, this.#turnId, signal),
    ]);
    this.#unknown.session(session);
    if (turn) this.#unknown.turn(turn);
    this.#turnId ??= turn?.id ?? null;
    this.#turnStatus = turn?.status ?? null;
    this.#sessionStatus = session.status;
    this.#show();
    return this.#decide(session, turn, signal);
  }

  async #newTurn(signal: AbortSignal): Promise<Turn | null> {
    const turns = await this.#options.api.newestTurns(this.#input.session_id, 20, signal);
    return firstTurnAfter(turns, this.#input.after_turn_id);
  }

  async #decide(session: Session, turn: Turn | null, signal: AbortSignal): Promise<FollowOutput | null> {
    if (turn && isTerminal(turn)) return this.#ended(turn, signal);
    const end = sessionEnd(session);
    // A budget may have been raised since this snapshot: one read decides nothing (I4).
    const sure = end !== 'budget_reached' || this.#overBudget;
    this.#overBudget = end === 'budget_reached';
    if (end && sure)
      return this.output(end, { error: session.error ? shownError(null, session.error) : null });
    if (end) {
      this.#lookWithin(FIRST_REREAD_MS);
      return null;
    }
    if (this.#environmentError) return this.output('environment_failed', { error: this.#environmentError });

    const due = owed(session.required_actions);
    // The turn waits, and the session waits for nothing: this snapshot is older than the turn (R14).
    const stale = turn?.status === 'waiting' && due.calls.length + due.others.length === 0;
    if (stale) return this.#doubt(session, turn, signal);
    this.#others = due.others;
    const required = new Set(due.calls.map(callKey));
    const settled = this.#unconfirmed.settle(required, Date.now());
    this.#confirmed.push(...settled.confirmed);
    const reopened = this.#settled.look(required, Date.now());
    this.#settled.add(settled.confirmed);
    // This read may have been older than the post: one more, should nothing be heard of the turn.
    if (settled.confirmed.length > 0) this.#lookWithin(CONFIRMED_READ_MS);
    this.#requiredAgain.push(...settled.requiredAgain, ...reopened.requiredAgain);
    const all = this.#calls.take(due.calls);

    if (this.#requiredAgain.length > 0) return this.output('blocked');
    const asksForUs = this.#calls.list.length > 0;
    const waitsForKnown = session.status === 'requires_action' && due.calls.length + due.others.length > 0;
    const unsure = this.#unconfirmed.size > 0 || reopened.doubtful;
    if (asksForUs || (waitsForKnown && !unsure)) {
      this.#gatherSince ??= Date.now();
      const gathered = Date.now() - this.#gatherSince >= GATHER_MS;
      // `waiting` says that no further call will come before we answer; without a turn only time tells.
      if (turn?.status === 'waiting' || gathered)
        return this.output(asksForUs ? 'calls' : 'blocked', all ? {} : { waiting: false });
      this.#lookWithin(GATHER_READ_MS);
      return null;
    }
    this.#gatherSince = null;
    const doubtful = session.status === 'idle' || unsure || !turn || this.#announced;
    return doubtful ? this.#doubt(session, turn, signal, unsure) : null;
  }

  /** The snapshots do not fit together: they may be stale (R14). Look again, later and later. */
  async #doubt(
    session: Session,
    turn: Turn | null,
    signal: AbortSignal,
    unsure = this.#unconfirmed.size > 0,
  ): Promise<FollowOutput | null> {
    this.#lookWithin(unsure ? SPACED_READ_MS : this.#rereadMs);
    if (!unsure) this.#rereadMs = Math.min(this.#rereadMs * 2, MAX_REREAD_MS);
    // A turn that the stream has shown is no lost message, whatever an older read says.
    if (turn || this.#turnId !== null || session.status !== 'idle') return null;
    const { api, log } = this.#options;
    const context = { api, log, signal, sessionId: this.#input.session_id };
    for (const message of this.#messages.takeLost(Date.now(), SPACED_READ_MS)) {
      log.warn('a message had no effect, posting it once more', { key: message.key });
      // A refusal says that a turn runs after all: the next read finds it.
      await deliver(context, { kind: 'message', ...message });
    }
    // Refused for a turn that is over, if there was one: to be posted again.
    const waits = this.#posted.some(
      ({ kind, outcome }) => kind === 'message' && outcome === 'still_required',
    );
    return waits && Date.now() - this.#started >= SPACED_READ_MS ? this.output('blocked') : null;
  }

  async #ended(turn: Turn, signal: AbortSignal): Promise<FollowOutput> {
    faultPoint('turn.ended');
    const { api } = this.#options;
    const { session_id } = this.#input;
    const { report, userTexts } = await readEndedTurn(api, session_id, turn, signal);
    this.#confirmed.push(...this.#unconfirmed.settleAll());
    this.#others = [];
    // Found in an earlier read: nobody waits for them any more (I5).
    this.#calls.clear();
    const landed = this.#messages.landedIn(userTexts);
    const newer = this.#messages.size > landed.length ? await api.newestTurns(session_id, 20, signal) : [];
    return this.output('ended', {
      turn: report,
      landed,
      next_turn_id: firstTurnAfter(newer, turn.id)?.id ?? null,
    });
  }

  #lookWithin(ms: number): void {
    this.#rereadAt = Math.min(this.#rereadAt, Date.now() + ms);
  }

  #show(): void {
    this.#options.view({
      session: this.#sessionStatus,
      turn: this.#turnStatus,
      turn_id: this.#turnId,
      reconnects: Math.max(0, this.#reconnects),
      ...this.#progress.view(),
    });
  }

  output(reason: FollowReason, fields: Partial<FollowOutput> = {}): FollowOutput {
    return {
      reason,
      turn_id: this.#turnId,
      posted: this.#posted,
      confirmed: this.#confirmed,
      required_again: this.#requiredAgain,
      calls: this.#calls.list,
      waiting: this.#turnStatus === 'waiting' || this.#sessionStatus === 'requires_action',
      others: this.#others,
      turn: null,
      next_turn_id: null,
      landed: [],
      error: null,
      ...fields,
    };
  }
}
