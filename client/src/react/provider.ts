import {
  createContext,
  createElement,
  type ReactElement,
  type ReactNode,
  useCallback,
  useContext,
  useEffect,
  useState,
  useSyncExternalStore,
} from "react";
import type { Status } from "../events/types.ts";
import { Parley, type ParleyOptions } from "../parley.ts";
import { useNewest } from "./listener.ts";
import { shared } from "./shared.ts";

const Context = /* @__PURE__ */ createContext<Parley | undefined>(undefined);

export type ParleyProviderProps = { readonly children?: ReactNode } & (
  | { readonly client: Parley; readonly options?: undefined }
  | { readonly options: ParleyOptions; readonly client?: undefined }
);

/**
 * With `client`: your own, which you close. With `options`: one that connects while the provider is shown, and is closed with it.
 * A new `token` function is used from then on; any other change of the options is not. For another user or another address, give the
 * provider another `key`.
 */
export function ParleyProvider({ client, options, children }: ParleyProviderProps): ReactElement {
  return options
    ? createElement(Owner, { options }, children)
    : createElement(Context.Provider, { value: client }, children);
}

function Owner({ options, children }: { options: ParleyOptions; children?: ReactNode }): ReactElement {
  const newest = useNewest(options);
  const make = (): { client: Parley; acquire: () => () => void } => {
    // It connects with the effect: a render may be thrown away, and must leave nothing behind.
    const { current } = newest;
    const client = new Parley({
      ...current,
      ...(current.token && { token: (request) => newest.current.token?.(request) ?? null }),
      autoConnect: false,
    } as ParleyOptions);
    let isOver = false;
    const begin = (): void => {
      // It was hidden for a while, and is shown again.
      if (isOver) setOwned(make());
      else if (current.autoConnect !== false) client.connect();
    };
    const end = (): void => {
      isOver = true;
      client.close();
    };
    return { client, acquire: shared(begin, end) };
  };
  const [owned, setOwned] = useState(make);
  useEffect(() => owned.acquire(), [owned]);
  return createElement(Context.Provider, { value: owned.client }, children);
}

/** The client of the nearest provider. */
export function useParley(): Parley {
  const client = useContext(Context);
  if (!client) throw new Error("parley: there is no <ParleyProvider> around this component");
  return client;
}

/** What a page shows that was rendered by a server: no connection yet. */
const AT_FIRST: Status = { state: "connecting" };

export function useStatus(): Status {
  const parley = useParley();
  return useSyncExternalStore(
    useCallback((changed) => parley.on("status", changed), [parley]),
    () => parley.status,
    () => AT_FIRST,
  );
}
