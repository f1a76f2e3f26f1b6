/** Looks at an outside that is not there. */
export function observe(): never {
  throw new Error('the test database is not there');
}
