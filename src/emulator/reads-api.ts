/** Turns, items and subagents: the lists and reads below a session (agents-api.md 1.2, 1.4, 9). */
import { notFound } from './api-error.ts';
import type { HttpCall, Reply } from './http-call.ts';
import { statusOf } from './items.ts';
import type { LiveSession } from './live-session.ts';
import { page, queryRules, type ListKind } from './paging.ts';
import type { ItemRecord, SubagentRecord, TurnRecord } from './records.ts';
import type { Sessions } from './sessions-api.ts';
import { turnView } from './views.ts';
import type { Turn } from './wire.ts';

export class Reads {
  private readonly sessions: Sessions;

  constructor(sessions: Sessions) {
    this.sessions = sessions;
  }

  /** The root agent's items only; children have their own lists. */
  items(call: HttpCall): Reply {
    const session = this.sessions.find(call);
    return listItems(session, call, (item) => item.subagent_id === null);
  }

  turns(call: HttpCall): Reply {
    const session = this.sessions.find(call);
    return listTurns(session, call, session.record.turns);
  }

  turn(call: HttpCall): Reply {
    const session = this.sessions.find(call);
    return showTurn(session, findTurn(session.record.turns, call));
  }

  turnItems(call: HttpCall): Reply {
    const session = this.sessions.find(call);
    const turn = findTurn(session.record.turns, call);
    return listItems(session, call, (item) => item.turn_id === turn.turn.id && item.subagent_id === null);
  }

  subagents(call: HttpCall): Reply {
    const session = this.sessions.find(call);
    const rows = session.record.subagents;
    return answerList(
      session,
      call,
      'subagents',
      rows,
      (row) => row.subagent.id,
      (row) => row.subagent,
    );
  }

  subagent(call: HttpCall): Reply {
    return { kind: 'json', status: 200, body: this.child(call).subagent };
  }

  subagentItems(call: HttpCall): Reply {
    const id = this.child(call).subagent.id;
    return listItems(this.sessions.find(call), call, (item) => item.subagent_id === id);
  }

  subagentTurns(call: HttpCall): Reply {
    return listTurns(this.sessions.find(call), call, this.child(call).turns);
  }

  subagentTurn(call: HttpCall): Reply {
    const session = this.sessions.find(call);
    return showTurn(session, findTurn(this.child(call).turns, call));
  }

  subagentTurnItems(call: HttpCall): Reply {
    const turn = findTurn(this.child(call).turns, call);
    return listItems(this.sessions.find(call), call, (item) => item.turn_id === turn.turn.id);
  }

  /** Traces and artifacts exist for hosted sessions; here the lists are always empty. */
  empty(call: HttpCall): Reply {
    const session = this.sessions.find(call);
    return answerList(
      session,
      call,
      'sessions',
      [] as string[],
      (row) => row,
      (row) => row,
    );
  }

  private child(call: HttpCall): SubagentRecord {
    const session = this.sessions.find(call);
    const id = call.params['subagent_id'] ?? '';
    const child = session.record.subagents.find((one) => one.subagent.id === id);
    if (child === undefined) throw notFound(id);
    return child;
  }
}

function findTurn(turns: readonly TurnRecord[], call: HttpCall): TurnRecord {
  const id = call.params['turn_id'] ?? '';
  const turn = turns.find((one) => one.turn.id === id);
  if (turn === undefined) throw notFound(id);
  return turn;
}

function showTurn(session: LiveSession, turn: TurnRecord): Reply {
  return { kind: 'json', status: 200, body: readTurn(session, turn, session.take('turn_lag')?.ms ?? 0) };
}

/** A turn as a read shows it; under the fault `turn_lag` its end is seen later. */
function readTurn(session: LiveSession, turn: TurnRecord, lagMs: number): Turn {
  const now = Date.now();
  const view = turnView(turn, now, session.world.settings.usageDelayMs);
  if (turn.ended_ms === null || now >= turn.ended_ms + lagMs) return view;
  return { ...view, status: 'in_progress', completed_at: null, error: null, usage: null };
}

function listTurns(session: LiveSession, call: HttpCall, turns: readonly TurnRecord[]): Reply {
  const lag = session.take('turn_lag')?.ms ?? 0;
  return answerList(
    session,
    call,
    'turns',
    turns,
    (row) => row.turn.id,
    (row) => readTurn(session, row, lag),
  );
}

function listItems(session: LiveSession, call: HttpCall, wanted: (item: ItemRecord) => boolean): Reply {
  const hide = session.take('hide_in_progress_items', call.occasion) !== undefined;
  const rows = session.record.items.filter(
    (item) => wanted(item) && !(hide && statusOf(item.item) === 'in_progress'),
  );
  return answerList(
    session,
    call,
    'items',
    rows,
    (row) => row.key,
    (row) => row.item,
  );
}

function answerList<T>(
  session: LiveSession,
  call: HttpCall,
  kind: ListKind,
  rows: readonly T[],
  key: (row: T) => string,
  show: (row: T) => unknown,
): Reply {
  const rules = queryRules(session.world.faults, call.occasion);
  return { kind: 'json', status: 200, body: page(rows, key, show, kind, { query: call.query, rules }) };
}
