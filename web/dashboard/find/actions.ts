/** What the command palette can do, besides finding: each opens the dialog or the page that does it, or does it at once. */
import { chooseScheme, SCHEMES, shownScheme } from "../../theme/scheme.ts";
import { matchPath, navigate, parameters, rawPath } from "../address/router.ts";
import { post, segment } from "../api/client.ts";
import { mayChange } from "../api/session.ts";
import type { App } from "../api/types.ts";
import { messageOf, toast } from "../ui/notice.tsx";
import { signOut } from "./sign-out.ts";

export interface Action {
  readonly title: string;
  /** The application, or that it is one of the service or the browser. */
  readonly detail: string;
  readonly run: () => void;
}

/** A dialog is a parameter of its page, whose other parameters stay if it is open already. */
function openDialog(page: string, name: string, value: string): void {
  const others = rawPath.value === page ? parameters.value : new URLSearchParams();
  const next = new URLSearchParams([...others].filter(([one]) => one !== name));
  next.set(name, value);
  navigate(`${page}?${next}`, { replace: rawPath.value === page });
}

async function backUp(): Promise<void> {
  navigate("/backups");
  try {
    await post("/backups");
    toast("The backup has started.");
  } catch (error) {
    toast(messageOf(error), "bad");
  }
}

function ofApp({ name }: App): readonly Action[] {
  const root = `/apps/${segment(name)}`;
  const { channel = "" } = matchPath("/apps/:app/channels/:channel", rawPath.value) ?? {};
  return [
    { title: "New room", run: () => navigate(`${root}/rooms/~new`) },
    { title: "New key", run: () => openDialog(`${root}/keys`, "create", "1") },
    { title: "New channel rule", run: () => openDialog(`${root}/rules`, "add", "1") },
    { title: "New webhook", run: () => openDialog(`${root}/webhooks`, "create", "1") },
    { title: "Publish a test message", run: () => openDialog(`${root}/channels`, "publish", channel) },
  ].map((one) => ({ ...one, detail: name }));
}

const OF_SERVICE: readonly Omit<Action, "detail">[] = [
  { title: "New application", run: () => navigate("/new-application") },
  { title: "New operator", run: () => openDialog("/operators", "create", "1") },
  { title: "Back up now", run: () => void backUp() },
];

/** Those that the operator may do. */
export function actions(app: App | undefined): readonly Action[] {
  const scheme = shownScheme();
  return [
    ...(mayChange.value && app ? ofApp(app) : []),
    ...(mayChange.value ? OF_SERVICE : []).map((one) => ({ ...one, detail: "service" })),
    ...SCHEMES.filter((one) => one !== scheme).map((one) => ({
      title: `Switch theme to ${one}`,
      detail: "this browser",
      run: () => chooseScheme(one),
    })),
    { title: "Sign out", detail: "this browser", run: () => void signOut() },
  ];
}
