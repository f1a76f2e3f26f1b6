/**
 * What a running turn looks like from its stream: counts and lengths for heartbeats and the Web UI. A hint for
 * people, never the base of a decision. State is keyed by item id and free of order (agents-api.md 3.3, 6).
 */
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
  readonly #parts = new Map<string, number>();
  readonly #unknownTypes = new Set<string>();

  /**
   * Takes one event of the stream. Returns false for a repeat of an event id that was seen among the last 1024,
   * which is then to be ignored (R8).
   */
  add(event: SessionEvent): boolean {
    if (event.event_id) {
      if (this.#eventIds.has(event.event_id)) return false;
      this.#eventIds.add(event.event_id);
      if (this.#eventIds.size > MAX_EVENT_IDS)
        this.#eventIds.delete(this.#eventIds.values().next().value ?? '');
    }
    this.#events++;
    const part = `${event.item_id ?? ''}/${event.content_index ?? 0}`;
    if (event.item) this.addItem(event.item, event.type.endsWith('.item.done'));
    else if (event.type.endsWith('.output_text.delta')) {
      this.#parts.set(part, (this.#parts.get(part) ?? 0) + (event.delta?.length ?? 0));
    } else if (event.type.endsWith('.output_text.done')) {
      // The whole text replaces what the deltas gave (R2).
      this.#parts.set(part, event.text?.length ?? 0);
    }
    return true;
  }

  /** Takes an item from a saved list, or from an event. A final item never becomes unfinished again (R9). */
  addItem(item: Item, done = item.status !== 'in_progress'): void {
    if (!item.id) return;
    const known = this.#items.get(item.id);
    this.#items.set(item.id, { type: item.type, final: (known?.final ?? false) || done });
    if (!done || item.type !== 'message' || item.role !== 'assistant') return;
    (item.content ?? []).forEach((part, index) =>
      this.#parts.set(`${item.id}/${index}`, part.text?.length ?? 0),
    );
  }

  /** True the first time it is asked about a type: for logging an unknown thing once (I12). */
  firstSight(type: string): boolean {
    if (this.#unknownTypes.has(type)) return false;
    this.#unknownTypes.add(type);
    return true;
  }

  view(): ProgressView {
    let current: string | null = null;
    for (const item of this.#items.values()) if (!item.final) current = item.type;
    let chars = 0;
    for (const length of this.#parts.values()) chars += length;
    return { events: this.#events, items: this.#items.size, current_item: current, text_chars: chars };
  }
}
