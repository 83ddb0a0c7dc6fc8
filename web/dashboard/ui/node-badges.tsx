/** How a node is: whether it responds, and its links to NATS and the store. */
import { isAway, type SeenNode } from "../live/nodes.ts";
import { Badge, Time } from "./values.tsx";

const Link = ({ name, state }: { readonly name: string; readonly state: "ok" | "away" }) => (
  <Badge kind={state === "ok" ? "good" : "bad"}>
    {name} {state}
  </Badge>
);

export const NodeLinks = ({ node: { nats, store, awaySince } }: { readonly node: SeenNode }) =>
  awaySince === undefined ? (
    <span class="badges">
      {nats && <Link name="NATS" state={nats} />}
      <Link name="Store" state={store} />
    </span>
  ) : (
    <Away since={awaySince} />
  );

const Away = ({ since }: { readonly since: number }) => (
  <span class="bad">
    Last response <Time at={since} />
  </span>
);

/** One badge for everything; the page about nodes says what is away. */
export const NodeBadge = ({ node }: { readonly node: SeenNode }) =>
  isAway(node) ? <Badge kind="bad">away</Badge> : <Badge kind="good">ok</Badge>;
