/**
 * What a running turn looks like from its stream: counts and lengths for heartbeats and the Web UI. A hint for
 * people, never the base of a decision. State is keyed by item id and free of order (agents-api.md 3.3, 6).
 */
import { contentOf } from './outcome.ts';
import type { Item, SessionEvent } from './wire.ts';

const MAX_EVENT_IDS = 1024;

export interface ProgressView {
  events: number;
  items: number;
  /** Type of the item that is being produced, for example `message`; null between items. */
  current_item: string | null;
  /** Characters of assistant text of the root turn so far. */
  text_chars: number;
}

export class Progress {
  #events = 0;
  readonly #eventIds = new Set<string>();
  readonly #items = new Map<string, { type: string; final: boolean }>();
  /** Length of each text part by item id and index; a final one does not grow any more. */
  readonly #parts = new Map<string, { length: number; final: boolean }>();

  /**
   * Takes one event of the stream. Returns false for a repeat of an event id that was seen among the last 1024,
   * which is then to be ignored (R8). Text counts only when it belongs to the turn `turnId`, where both are known
   * (R11).
   */
  add(event: SessionEvent, turnId: string | null): boolean {
    if (event.event_id) {
      if (this.#eventIds.has(event.event_id)) return false;
      this.#eventIds.add(event.event_id);
      if (this.#eventIds.size > MAX_EVENT_IDS)
        this.#eventIds.delete(this.#eventIds.values().next().value ?? '');
    }
    this.#events++;
    const counts = !event.turn_id || turnId === null || event.turn_id === turnId;
    if (event.item) this.#addItem(event.item, event.type.endsWith('.item.done'), counts);
    else if (counts && event.item_id) this.#addText(event, event.item_id);
    return true;
  }

  /** An item that is final, by its event or by its status, never becomes unfinished again (R9). */
  #addItem(item: Item, done: boolean, counts: boolean): void {
    const final = done || item.status !== 'in_progress';
    if (item.id) {
      const known = this.#items.get(item.id);
      this.#items.set(item.id, { type: item.type, final: (known?.final ?? false) || final });
    }
    if (!counts || !final || !item.id || item.type !== 'message' || item.role !== 'assistant') return;
    contentOf(item).forEach((part, index) => this.#setPart(`${item.id}/${index}`, part.text));
  }

  #addText(event: SessionEvent, itemId: string): void {
    const part = `${itemId}/${event.content_index ?? 0}`;
    if (event.type.endsWith('.output_text.delta')) {
      const known = this.#parts.get(part);
      // A delta that comes late for something final changes nothing (R4).
      if (known?.final || this.#items.get(itemId)?.final) return;
      this.#parts.set(part, { length: (known?.length ?? 0) + (event.delta?.length ?? 0), final: false });
    } else if (event.type.endsWith('.output_text.done')) {
      // The whole text replaces what the deltas gave (R2).
      this.#setPart(part, event.text);
    }
  }

  #setPart(part: string, text: string | undefined): void {
    this.#parts.set(part, { length: text?.length ?? 0, final: true });
  }

  view(): ProgressView {
    let current: string | null = null;
    for (const item of this.#items.values()) if (!item.final) current = item.type;
    let chars = 0;
    for (const { length } of this.#parts.values()) chars += length;
    return { events: this.#events, items: this.#items.size, current_item: current, text_chars: chars };
  }
}
