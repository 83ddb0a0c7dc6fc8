/** Where clients reach the service, for the snippets: the dashboard may be on an address of its own. */
import { applicationOrigin, originFrom } from "../address/public-address.ts";
import type { SettingRow } from "../api/types.ts";
import { useLive } from "./live.ts";

export function useOrigin(): string {
  const { data } = useLive<{ readonly data: readonly SettingRow[] }>("/settings");
  return originFrom(data?.data ?? [], new URL(location.href));
}

/** What the service's settings say about rooms; undefined until they are known. */
export interface RoomService {
  /** Where browsers reach the application. */
  readonly origin: string;
  /** PARLEY_MESH_MAX. */
  readonly meshMax: number;
}

const MESH_MAX = "PARLEY_MESH_MAX";

export function useRoomService(app: string): RoomService | undefined {
  const { data } = useLive<{ readonly data: readonly SettingRow[] }>("/settings");
  if (!data) return undefined;
  const setting = data.data.find(({ name }) => name === MESH_MAX);
  return {
    origin: applicationOrigin(data.data, new URL(location.href), app),
    meshMax: Number(setting?.value ?? setting?.default),
  };
}
