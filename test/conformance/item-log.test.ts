/** The item log: what is read back is what was counted, whatever a kill left behind. */
import assert from 'node:assert/strict';
import { appendFileSync, existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import * as fc from 'fast-check';
import { ItemLog } from '../../src/emulator/item-log.ts';
import type { ItemRecord } from '../../src/emulator/records.ts';
import { LIMIT } from './support.ts';

function item(text: string): ItemRecord {
  return {
    key: text,
    turn_id: 't',
    subagent_id: null,
    output_index: null,
    item: { type: 'reasoning', id: text, status: null, summary: [], turn_id: 't' },
  };
}

describe('the item log', LIMIT, () => {
  it('reads back any history of additions and changes', (t) => {
    const dir = mkdtempSync(join(tmpdir(), 'item-log-'));
    t.after(() => rmSync(dir, { recursive: true }));
    let run = 0;
    const change = fc.record({ at: fc.nat(5), text: fc.string() });
    fc.assert(
      fc.property(
        fc.array(fc.array(change, { maxLength: 3 })),
        fc.boolean(),
        fc.string(),
        (rounds, whole, torn) => {
          run += 1;
          const path = join(dir, `${run}.jsonl`);
          const log = new ItemLog(path);
          const items: ItemRecord[] = [];
          let lines = 0;
          for (const round of rounds) {
            for (const { at, text } of round) {
              if (at < items.length) items[at] = item(text);
              else items.push(item(text));
            }
            lines = log.append(items);
          }
          // A kill in the middle of the next change leaves a whole line, or a part of one.
          appendFileSync(path, `${whole ? '{"index":0,"record":null}\n' : ''}${torn.replaceAll('\n', '')}`);
          const again = new ItemLog(path);
          assert.deepEqual(again.load(lines), items);
          items.push(item('later'));
          assert.deepEqual(new ItemLog(path).load(again.append(items)), items);
        },
      ),
      { numRuns: 60 },
    );
  });

  it('writes only what changed, and nothing is left of a deleted session', (t) => {
    const dir = mkdtempSync(join(tmpdir(), 'item-log-'));
    t.after(() => rmSync(dir, { recursive: true }));
    const path = join(dir, 'log.jsonl');
    const log = new ItemLog(path);
    const items = [item('a'), item('b')];
    assert.equal(log.append(items), 2);
    assert.equal(log.append(items), 2);
    items[0] = { ...item('a'), item: { ...item('A').item } };
    assert.equal(log.append(items), 3);
    assert.equal(readFileSync(path, 'utf8').split('\n').length, 4);
    assert.equal(log.append([]), 0);
    assert.ok(existsSync(path));
    log.settle();
    assert.ok(!existsSync(path));
  });
});
