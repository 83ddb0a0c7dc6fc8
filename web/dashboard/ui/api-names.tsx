/** What the API calls the fields of a form, for those who want to know. */
import { signal } from "@preact/signals";

const KEPT = "parley-api-names";

function wereShown(): boolean {
  try {
    return localStorage.getItem(KEPT) !== null;
  } catch {
    return false;
  }
}

export const hasApiNames = signal(wereShown());

export function showApiNames(isShown: boolean): void {
  hasApiNames.value = isShown;
  try {
    if (isShown) localStorage.setItem(KEPT, "1");
    else localStorage.removeItem(KEPT);
  } catch {
    // Without storage it holds until the page is left.
  }
}

/** Beside a label. It is not part of the label's name. */
export const ApiName = ({ children }: { readonly children: string | undefined }) =>
  children === undefined || !hasApiNames.value ? null : <code class="api-name">{children}</code>;
