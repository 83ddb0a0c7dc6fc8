/** Who uses this tab. Each tab has its own user, also after a reload and after a restart of the backend. */
export interface Session {
  readonly user: { readonly id: string; readonly name: string };
  /** What the backend recognises the user by. */
  readonly session: string;
  /** Of the service. */
  readonly url: string;
}

const KEY = "session";

export function savedSession(): Session | undefined {
  const text = sessionStorage.getItem(KEY);
  return text === null ? undefined : (JSON.parse(text) as Session);
}

export async function logIn(name: string): Promise<Session> {
  const response = await fetch("/api/login", { method: "POST", body: JSON.stringify({ name }) });
  if (!response.ok) throw new Error(`The backend answered ${response.status}.`);
  const text = await response.text();
  sessionStorage.setItem(KEY, text);
  return JSON.parse(text) as Session;
}

export const logOut = (): void => sessionStorage.removeItem(KEY);

/** A connect token; `null` if the backend does not know this session any more. */
export async function connectToken({ session }: Session): Promise<string | null> {
  const headers = { Authorization: `Bearer ${session}` };
  const response = await fetch("/api/token", { method: "POST", headers });
  if (response.status === 401) return null;
  if (!response.ok) throw new Error(`The backend answered ${response.status}.`);
  return ((await response.json()) as { token: string }).token;
}
