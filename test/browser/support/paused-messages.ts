/** Between the service and a page: messages can be held back, and arrive later in order. */
import type { Page } from "playwright-core";

export class PausedMessages {
  private waiting: (() => void)[] | undefined;
  private onSent: (message: string) => void = () => undefined;

  async stand(page: Page): Promise<void> {
    await page.routeWebSocket(/\/v1\?/, (near) => {
      const far = near.connectToServer();
      near.onMessage((message) => {
        far.send(message);
        this.onSent(String(message));
      });
      far.onMessage((message) => {
        if (this.waiting) this.waiting.push(() => near.send(message));
        else near.send(message);
      });
    });
  }

  pause(): void {
    this.waiting = [];
  }

  release(): void {
    for (const arrive of this.waiting ?? []) arrive();
    this.waiting = undefined;
  }

  /** Resolves when the page sends a message that contains this text. */
  sent(text: string): Promise<void> {
    return new Promise((resolve) => {
      this.onSent = (message) => {
        if (message.includes(text)) resolve();
      };
    });
  }
}
