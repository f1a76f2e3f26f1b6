/** The demo cannot go on, for the plain reason in the message. */
export class DemoError extends Error {
  override readonly name = 'DemoError';
}
