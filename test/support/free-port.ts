import { once } from 'node:events';
import { createServer, type AddressInfo } from 'node:net';

/**
 * Ports of 127.0.0.1 that nobody listens on, all different. They are free at the time of the answer; a caller that
 * cannot bind port 0 itself (a child process that wants a number) must be ready to lose the race and ask again.
 */
export async function freePorts(count: number): Promise<number[]> {
  const servers = Array.from({ length: count }, () => createServer().listen(0, '127.0.0.1'));
  try {
    await Promise.all(servers.map((server) => once(server, 'listening')));
    return servers.map((server) => (server.address() as AddressInfo).port);
  } finally {
    await Promise.all(servers.map((server) => once(server.close(), 'close')));
  }
}

/** One port that nobody listens on; see {@link freePorts}. */
export async function freePort(): Promise<number> {
  const [port] = await freePorts(1);
  if (port === undefined) throw new Error('no free port');
  return port;
}
