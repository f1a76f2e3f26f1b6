/** A question cannot be asked here; the message says why, and stands in the report. */
export class Unasked extends Error {
  override readonly name = 'Unasked';
}
