/** Pages whose script is loaded when they are first shown. */
import { type Signal, signal } from "@preact/signals";
import type { ComponentType } from "preact";
import { useEffect } from "preact/hooks";
import type { PageParameters } from "../address/router.ts";
import { Loading } from "../ui/page.tsx";

export interface Script {
  load(): Promise<void>;
  loadAhead(): void;
}

class LaterScript<Pages> implements Script {
  private readonly loaded: Signal<Pages | undefined> = signal(undefined);
  private loading: Promise<void> | undefined;
  private isNeeded = false;

  constructor(private readonly fetchPages: () => Promise<Pages>) {}

  /** undefined: not there yet. Read in a component, it draws that again once they are. */
  pages(): Pages | undefined {
    return this.loaded.value;
  }

  load(): Promise<void> {
    this.isNeeded = true;
    this.loading ??= this.fetched();
    return this.loading;
  }

  /** Before it is needed. In vain is as if it had not been tried. */
  loadAhead(): void {
    this.loading ??= this.fetched();
  }

  private fetched(): Promise<void> {
    return this.fetchPages().then(
      (pages) => {
        this.loaded.value = pages;
      },
      () => {
        // Browsers remember that a module could not be loaded: only loading the page again can help (web/recover).
        if (this.isNeeded) dispatchEvent(new Event("parley-outdated"));
        else this.loading = undefined;
      },
    );
  }
}

export const script = <Pages,>(fetchPages: () => Promise<Pages>) => new LaterScript(fetchPages);

interface LaterProps {
  readonly script: Script;
  readonly find: () => ComponentType<{ readonly at: PageParameters }> | undefined;
  readonly at: PageParameters;
}

export function Later({ script, find, at }: LaterProps) {
  useEffect(() => void script.load(), [script]);
  const Page = find();
  return Page ? <Page at={at} /> : <Loading />;
}
