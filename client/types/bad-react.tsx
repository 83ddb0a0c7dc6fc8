/** Mistakes that the types of parley-client/react must find, as in bad.ts. */
import { Parley } from "parley-client";
import { ParleyProvider, useChannel, useListener, useMemberStates, useParley, useStatus } from "parley-client/react";
import { stateOf } from "parley-client/state";
import type { ReactElement } from "react";

const client = new Parley({ url: "https://parley.example.com", key: "pk_demo" });
const options = { url: "https://parley.example.com", key: "pk_demo" };

export const Neither = (): ReactElement => <ParleyProvider />; // TS2322
export const Both = (): ReactElement => <ParleyProvider client={client} options={options} />; // TS2322

export function Room(): ReactElement {
  const { publish } = useChannel<{ readonly text: string }>("chat/1", { onMessage: (one) => one.data.title }); // TS2339
  useChannel<unknown, { name: string }>("chat/1", { onMessage: (one) => one.fromMetadata?.title }); // TS2339
  const { set } = useMemberStates<{ typing: boolean }>("chat/1", stateOf);
  useListener(useParley(), "message", () => undefined); // TS2345
  return (
    <button
      type="button"
      disabled={useStatus() === "closed"} // TS2367
      onFocus={() => set({ typing: "yes" })} // TS2322
      onClick={() => publish("hello")} // TS2345
    />
  );
}
