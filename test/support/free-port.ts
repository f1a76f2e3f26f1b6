import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type Server } from 'node:net';

/**
 * Below what systems give away by themselves (from 32768 on Linux, from 49152 elsewhere): a port that is let go, by
 * a server that is killed and comes back, is not the next connection's or somebody's port 0.
 */
const FIRST = 20_000;
const LAST = 32_767;

/**
 * Ports of 127.0.0.1 that nobody listens on, all different. They are free at the time of the answer: another test may
 * draw the same one, which is unlikely, and a caller that cannot bind port 0 itself says so clearly then.
 */
export async function freePorts(count: number): Promise<number[]> {
  const held: Server[] = [];
  const ports: number[] = [];
  try {
    while (ports.length < count) {
      const port = randomInt(FIRST, LAST + 1);
      const server = createServer();
      const listening = once(server, 'listening');
      server.listen(port, '127.0.0.1');
      if (
        !(await listening.then(
          () => true,
          () => false,
        ))
      )
        continue;
      held.push(server);
      ports.push(port);
    }
    return ports;
  } finally {
    await Promise.all(held.map((server) => once(server.close(), 'close')));
  }
}

/** One port that nobody listens on; see {@link freePorts}. */
export async function freePort(): Promise<number> {
  const [port] = await freePorts(1);
  if (port === undefined) throw new Error('no free port');
  return port;
}
