/** People know an application by its name; responses have its id. */
import type { Server } from "../../calls/client.ts";

/** The name of an application; its id if the name cannot be found, for example because the application is deleted. */
export async function nameOfApp(server: Server, id: string): Promise<string> {
  try {
    return (await server.get<{ name: string }>(`/apps/${encodeURIComponent(id)}`)).name;
  } catch {
    return id;
  }
}
