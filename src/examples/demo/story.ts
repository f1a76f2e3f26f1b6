/** What the demo prints: a line per event with the seconds since the start, then the facts. Colour on a terminal only. */
const CODES = { bold: 1, dim: 2, red: 31, green: 32 } as const;
type Style = keyof typeof CODES;

/** A fact: its name, and one or more lines. */
export type Fact = readonly [name: string, ...lines: string[]];

export class Story {
  readonly #began = Date.now();

  /** Seconds since the demo began. */
  get seconds(): number {
    return (Date.now() - this.#began) / 1000;
  }

  title(text: string): void {
    this.#print(`\n${this.#paint('bold', text)}\n`);
  }

  /** Something that happened just now. */
  tell(text: string, style?: Style): void {
    const at = `${this.seconds.toFixed(1).padStart(7)} s`;
    this.#print(`${this.#paint('dim', at)}  ${style === undefined ? text : this.#paint(style, text)}\n`);
  }

  /** Facts in two columns. */
  facts(facts: readonly Fact[]): void {
    const width = Math.max(...facts.map(([name]) => name.length)) + 2;
    for (const [name, ...lines] of facts) {
      lines.forEach((line, index) => this.#print(`  ${(index === 0 ? name : '').padEnd(width)}${line}\n`));
    }
  }

  /** The last word. */
  verdict(good: boolean, lines: readonly string[]): void {
    this.#print('\n');
    for (const line of lines) this.#print(`${this.#paint(good ? 'green' : 'red', line)}\n`);
  }

  #paint(style: Style, text: string): string {
    const colours = process.stdout.isTTY && !process.env['NO_COLOR'];
    return colours ? `\u001B[${CODES[style]}m${text}\u001B[0m` : text;
  }

  #print(text: string): void {
    process.stdout.write(text);
  }
}
