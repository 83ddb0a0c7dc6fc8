/** Addresses that lead nowhere, or to something that is gone. */
import type { ComponentChildren } from "preact";
import { useEffect } from "preact/hooks";
import { BASE } from "../address/router.ts";
import { segment } from "../api/client.ts";
import { mayChange } from "../api/session.ts";
import { apps } from "../live/apps.ts";
import { retryNow } from "../live/live.ts";
import { Empty } from "../ui/notice.tsx";
import { Card, Page } from "../ui/page.tsx";

export const NotFound = () => (
  <Page title="Page not found">
    <Card>
      <Empty title="Check the address for typing errors.">
        <p class="row centered">
          <a class="button" href={BASE}>
            Go to the overview
          </a>
        </p>
      </Empty>
    </Card>
  </Page>
);

/** More than this many names would not be read. */
const LISTED_MAX = 10;

export function NoApplication({ name }: { readonly name: string }) {
  const all = apps.value ?? [];
  // Another tab may have created it a moment ago.
  useEffect(retryNow, [name]);
  return (
    <Page title="Application not found">
      <Card>
        <Empty title={`No application is named “${name}”.`}>
          <p>Its name is misspelt, or it was deleted. Names have lower-case letters, digits and hyphens.</p>
          {all.length > 0 && (
            <p>
              Applications:{" "}
              {all.slice(0, LISTED_MAX).flatMap((one, at) => [
                at > 0 && ", ",
                <a key={one._id} href={`${BASE}/apps/${segment(one.name)}`}>
                  {one.name}
                </a>,
              ])}
              {all.length > LISTED_MAX && ` and ${all.length - LISTED_MAX} more, under "All applications"`}
            </p>
          )}
          <p class="row centered">
            <a class="button" href={BASE}>
              Go to the overview
            </a>
            {mayChange.value && (
              <a class="button" href={`${BASE}/new-application`}>
                New application
              </a>
            )}
          </p>
        </Empty>
      </Card>
    </Page>
  );
}

interface MissingProps {
  /** A sentence: what is not there. */
  readonly title: string;
  /** Where the others are. */
  readonly to: string;
  /** What that page is called. */
  readonly all: string;
  /** Why it may be missing. */
  readonly children: ComponentChildren;
}

/** What a page about one thing shows if there is no such thing. */
export const Missing = ({ title, to, all, children }: MissingProps) => (
  <Empty title={title}>
    <p>{children}</p>
    <p class="row centered">
      <a class="button" href={to}>
        {all}
      </a>
    </p>
  </Empty>
);
