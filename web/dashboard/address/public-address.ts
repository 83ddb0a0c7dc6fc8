/** The address of the service for clients, as far as its settings tell. */
import type { SettingRow } from "../api/types.ts";

/** `here` is the address of the dashboard. */
export function originFrom(settings: readonly SettingRow[], here: URL): string {
  const given = (wanted: string): string | undefined => {
    const found = settings.find(({ name }) => name === wanted);
    return found && found.source !== "default" ? String(found.value) : undefined;
  };
  const [first = ""] = given("PARLEY_PUBLIC_URL")?.split(",") ?? [];
  if (URL.canParse(first.trim())) return new URL(first.trim()).origin;
  if (given("PARLEY_ADMIN_LISTEN") === undefined) return here.origin;
  const port = settings.find(({ name }) => name === "PARLEY_PORT")?.value ?? "";
  return new URL(`${given("PARLEY_TLS_CERT") ? "https" : "http"}://${here.hostname}:${port}`).origin;
}

/** Where browsers reach an application: `<app>.<domain>`, with the scheme and the port of the service. */
export function applicationOrigin(settings: readonly SettingRow[], here: URL, app: string): string {
  const { protocol, port } = new URL(originFrom(settings, here));
  const domain = settings.find(({ name }) => name === "PARLEY_DOMAIN")?.value ?? here.hostname;
  return `${protocol}//${app}.${domain}${port === "" ? "" : `:${port}`}`;
}
