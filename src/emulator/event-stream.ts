/** One open event stream: frames, keep-alives, and the faults that break streams (agents-api.md 3.1, 6). */
import { randomBytes } from 'node:crypto';
import type { ServerResponse } from 'node:http';
import { merge, newId } from './canonical.ts';
import type { FaultKind, FaultOf } from './fault-kinds.ts';
import type { Listener, LiveSession } from './live-session.ts';
import { activeTurn } from './records.ts';
import { asEvent, type EventBody } from './wire.ts';

export interface StreamOptions {
  obfuscation: boolean;
  /** A creation stream ends at the first `idle` after its turn (agents-api.md 3.1). */
  endAtIdle: boolean;
  method: string;
  route: string;
  path: string;
}

/** A client that does not read is cut off here instead of filling the memory. */
const MAX_BUFFERED_BYTES = 16 * 1024 * 1024;
const NEWLINES = { lf: '\n', cr: '\r', crlf: '\r\n' } as const;
const TERMINAL = /^agent\.session\.turn\.(completed|failed|cancelled)$/;

export class EventStream implements Listener {
  private readonly response: ServerResponse;
  private readonly session: LiveSession;
  private readonly options: StreamOptions;
  private readonly pings: NodeJS.Timeout;
  private readonly cut: FaultOf<'cut_stream'> | undefined;
  private readonly silent: boolean;
  private readonly noDeltas: boolean;
  private readonly odd: FaultOf<'odd_bytes'> | undefined;
  /** Events before this moment (Unix ms) pass it by. */
  private hearsFrom = 0;
  private sent = 0;
  private turnEnded = false;
  private open = true;
  private cutNext = false;

  /** Sends the headers at once: clients post only after they have them. */
  constructor(response: ServerResponse, session: LiveSession, options: StreamOptions, status: number) {
    this.response = response;
    this.session = session;
    this.options = options;
    this.cut = this.take('cut_stream');
    this.silent = this.take('silent_stream') !== undefined;
    this.noDeltas = this.take('suppress_deltas') !== undefined;
    this.odd = this.take('odd_bytes');
    response.writeHead(status, {
      'content-type': 'text/event-stream; charset=utf-8',
      'cache-control': 'no-cache, no-transform',
    });
    response.flushHeaders();
    this.pings = setInterval(() => this.ping(), session.world.settings.pingMs);
    this.pings.unref();
    response.on('close', () => this.leave());
    const late = this.take('late_subscription');
    session.listeners.add(this);
    session.record.counters.streams_opened += 1;
    session.save();
    this.greet();
    if (late !== undefined) this.hearsFrom = Date.now() + late.ms;
    // A client that has left already closes nothing any more.
    if (response.destroyed) this.leave();
  }

  deliver(event: EventBody, id?: string): void {
    if (!this.open || this.silent || Date.now() < this.hearsFrom) return;
    if (this.noDeltas && event.type.endsWith('.delta')) return;
    if (this.struck('drop_events', event) !== undefined) return;
    if (this.cut?.before_type === event.type) return this.breakOff(event);
    if (this.cutNext) return this.breakOff(event);
    const odd = this.struck('unknown_event', event);
    if (odd !== undefined) {
      this.frame(asEvent({ type: 'agent.session.local_unknown', session_id: this.session.id, ...odd.event }));
    }
    const patch = this.struck('patch_event', event);
    this.frameChecked(patch === undefined ? event : (merge(event, patch.patch) as EventBody), id);
    this.sent += 1;
    if (this.cut?.after_type === event.type || this.isDue()) this.cutHere();
    else this.endIfOver(event);
  }

  end(): void {
    if (!this.open || this.silent) return;
    this.leave();
    this.response.end();
  }

  private greet(): void {
    if (this.isDue()) this.cutHere();
    if (!this.open) return;
    if (this.take('initial_status_event') !== undefined) {
      const session = this.session.view();
      this.deliver({ type: `agent.session.${session.status}`, session });
    }
    const again = this.take('reemit_on_reconnect');
    if (again === undefined) return;
    const { record } = this.session;
    const turn = activeTurn(record);
    for (const item of record.items) {
      if (item.turn_id !== turn?.turn.id) continue;
      const body: EventBody = {
        type: 'agent.session.turn.item.added',
        session_id: record.id,
        turn_id: item.turn_id,
        output_index: item.output_index,
        item: item.item,
      };
      this.deliver(body, again.same_id === true ? this.session.shownAs.get(item.key) : undefined);
    }
  }

  private endIfOver(event: EventBody): void {
    if (TERMINAL.test(event.type) && 'turn' in event && event.turn.subagent_id === null)
      this.turnEnded = true;
    const idle = this.options.endAtIdle && this.turnEnded && event.type === 'agent.session.idle';
    if (idle || event.type === 'agent.session.failed') this.end();
  }

  /** Frame faults strike before the frame; a duplicate follows it. */
  private frameChecked(event: EventBody, own?: string): void {
    const bad = this.struck('malformed_frame', event);
    if (bad !== undefined) {
      this.write(
        bad.mode === 'no_data' ? `event: ${event.type}\n\n` : `event: ${event.type}\ndata: {"type":\n\n`,
      );
      return;
    }
    const id = own ?? newId('evt');
    this.frame(event, id);
    const twice = this.struck('duplicate_events', event);
    if (twice !== undefined) this.frame(event, twice.new_id === true ? newId('evt') : id);
  }

  private frame(event: EventBody, id = newId('evt')): void {
    this.write(this.encode(event, id));
  }

  private encode(event: EventBody, id: string): string {
    const padding = this.options.obfuscation ? { obfuscation: randomBytes(8).toString('hex') } : {};
    const data = JSON.stringify({ ...event, event_id: id, ...padding });
    return `event: ${event.type}\ndata: ${data}\n\n`;
  }

  private ping(): void {
    if (this.open && !this.silent) this.write(': ping\n\n');
  }

  private write(text: string): void {
    if (this.response.writableLength > MAX_BUFFERED_BYTES) {
      this.session.world.log(`stream of ${this.session.id} closed: the client does not read`);
      this.leave();
      this.response.destroy();
      return;
    }
    const bytes = Buffer.from(this.odd === undefined ? text : oddForm(text, this.odd));
    const size = this.odd?.chunk_bytes ?? 0;
    if (size < 1) {
      this.response.write(bytes);
      return;
    }
    for (let at = 0; at < bytes.length; at += size) this.response.write(bytes.subarray(at, at + size));
  }

  /** Half a frame needs a next event to be the half of. */
  private cutHere(): void {
    if (this.cut?.mode === 'half_frame') this.cutNext = true;
    else this.breakOff();
  }

  /** `cut_stream`, with or without the half of a frame. */
  private breakOff(event?: EventBody): void {
    this.leave();
    if (this.cut?.mode === 'reset') {
      this.reset();
      return;
    }
    if (this.cut?.mode === 'half_frame' && event !== undefined) {
      const frame = this.encode(event, newId('evt'));
      this.response.write(frame.slice(0, Math.floor(frame.length / 2)));
    }
    this.response.end();
  }

  /** A reset throws away what is not sent yet, so what was promised goes out first. */
  private reset(): void {
    const { socket, writableLength } = this.response;
    if (writableLength > 0 && socket?.destroyed === false) setImmediate(() => this.reset());
    else socket?.resetAndDestroy();
  }

  private isDue(): boolean {
    return this.cut?.after_events !== undefined && this.sent >= this.cut.after_events;
  }

  private leave(): void {
    this.open = false;
    clearInterval(this.pings);
    this.session.listeners.delete(this);
  }

  private take<K extends FaultKind>(kind: K): FaultOf<K> | undefined {
    const { method, route, path } = this.options;
    return this.session.take(kind, { method, route, path });
  }

  private struck<K extends FaultKind>(kind: K, event: EventBody): FaultOf<K> | undefined {
    return this.session.take(kind, { event_type: event.type });
  }
}

/** The same frame in an odd but valid form. */
function oddForm(text: string, odd: FaultOf<'odd_bytes'>): string {
  const noise = odd.noise === true ? ': noise\nid: 7\nretry: 1000\n' : '';
  const spaced = odd.space === false ? text.replaceAll(/^(event|data): /gm, '$1:') : text;
  return (noise + spaced).replaceAll('\n', NEWLINES[odd.newline ?? 'lf']);
}
