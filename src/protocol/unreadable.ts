/** Stands for a payload that cannot be decoded: of an unknown encoding, or broken. */
export class Unreadable {
  /** The name of its encoding, as the payload gives it. */
  readonly encoding: string;

  constructor(encoding: string) {
    this.encoding = encoding;
  }
}
