/** The demo: two people side by side, the second of whom can move to a tab of its own. */
import { $, button, h } from "./dom.ts";
import { drawExamples } from "./examples.ts";
import { Pane } from "./pane.ts";
import { ownName, readable } from "./people.ts";

const CHANNEL = "chat/lobby";

const counted = (people: number): void => {
  $("people-count").textContent =
    people === 1 ? "One person is" : people === 2 ? "Two people are" : `${people} people are`;
};

export class Demo {
  private readonly channel: string;
  private other: Pane | undefined;

  constructor(private readonly key: string) {
    const query = new URLSearchParams(location.search);
    this.channel = query.get("channel") || CHANNEL;
    $("channel-name").textContent = this.channel;
    drawExamples(key, this.channel);
    this.pane("first", ownName("first", { given: readable(query.get("as") ?? "") }));
    if (query.get("peers") === "1") this.showPlace("This tab is one person.", "Show two people here");
    else this.show();
    // The second person moves to the second tab, with its name.
    $("second").addEventListener("click", () => {
      $<HTMLAnchorElement>("second").href = this.addressOfSecond();
      if (!this.other) return;
      this.other.leave();
      this.other = undefined;
      this.showPlace("The second person is in the other tab.", "Bring back here");
    });
  }

  private addressOfSecond(): string {
    const channel = this.channel === CHANNEL ? {} : { channel: this.channel };
    return `/?${new URLSearchParams({ ...channel, peers: "1", ...(this.other && { as: this.other.name }) })}`;
  }

  private pane(slot: "first" | "other", name: string): Pane {
    return new Pane($(slot), {
      key: this.key,
      channel: this.channel,
      slot,
      name,
      ...(slot === "first" && { counted }),
    });
  }

  private show(): void {
    this.other = this.pane("other", ownName("other", { taken: ownName("first") }));
  }

  /** In place of the second person. */
  private showPlace(text: string, label: string): void {
    const back = button(label, () => {
      this.show();
      $("other").querySelector<HTMLElement>("input[aria-label=Message]")?.focus();
    });
    $("other").replaceChildren(h("div", { class: "vacant" }, h("p", { class: "muted" }, text), back));
  }
}
