/**
 * The wire between a worker and the local Agents API: notes every request that passes, and can go dead without a
 * word, as a router does that forgets its connections.
 */
import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net';

import type { Emulator } from '../../src/emulator/index.ts';

/** A request that passed, and its answer once that has begun. Times in ms since the epoch. */
export interface Passage {
  at: number;
  method: string;
  path: string;
  status: number | null;
  answeredAt: number | null;
}

/** Requests are never pipelined: each head begins a chunk of its own. */
const REQUEST = /^([A-Z]+) (\S+) HTTP\/1\.1\r\n/;
const ANSWER = /^HTTP\/1\.1 (\d{3}) /;

export class Wire {
  readonly passages: Passage[] = [];
  readonly #server: Server;
  readonly #port: number;
  /** Every open connection with what makes it dead. */
  readonly #open = new Map<Socket, () => void>();

  private constructor(port: number) {
    this.#port = port;
    this.#server = createServer((near) => this.#join(near));
  }

  static async to(emulator: Emulator): Promise<Wire> {
    const wire = new Wire(emulator.port);
    wire.#server.listen(0, '127.0.0.1');
    await once(wire.#server, 'listening');
    return wire;
  }

  /** For `OPENAI_BASE_URL`. */
  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}/v1`;
  }

  /** The requests whose path begins so, in order. */
  of(path: string): Passage[] {
    return this.passages.filter((passage) => passage.path.startsWith(`/v1${path}`));
  }

  /** From now on nothing passes over the connections that are open, in neither direction; new ones are good. */
  die(): void {
    for (const kill of this.#open.values()) kill();
  }

  async close(): Promise<void> {
    for (const socket of this.#open.keys()) socket.destroy();
    this.#server.close();
    await once(this.#server, 'close');
  }

  #join(near: Socket): void {
    const far = connect(this.#port, '127.0.0.1');
    let dead = false;
    let last: Passage | undefined;
    const pass = (from: Socket, to: Socket, note: (head: string) => void): void => {
      from.on('data', (data: Buffer) => {
        if (dead) return;
        note(data.toString('latin1', 0, 500));
        to.write(data);
      });
      // A dead wire does not tell one side that the other has gone.
      from.on('end', () => dead || to.end());
      from.on('error', () => dead || to.destroy());
      from.on('close', () => {
        if (!dead) to.destroy();
        this.#open.delete(from);
      });
    };
    this.#open.set(near, () => (dead = true));
    this.#open.set(far, () => undefined);
    pass(near, far, (head) => {
      const [, method, path] = REQUEST.exec(head) ?? [];
      if (!method || !path) return;
      last = { at: Date.now(), method, path, status: null, answeredAt: null };
      this.passages.push(last);
    });
    pass(far, near, (head) => {
      const [, status] = ANSWER.exec(head) ?? [];
      if (!status || !last || last.status !== null) return;
      last.status = Number(status);
      last.answeredAt = Date.now();
    });
  }
}
