/** For what people read in place of a result: where the code lies is none of their business (I11). */
export function withoutStack<T extends Error>(error: T): T {
  error.stack = '';
  return error;
}
