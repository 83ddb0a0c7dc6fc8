import type { PageParameters } from "../routes.tsx";
import { Page } from "../ui/page.tsx";

export const Room = (_: { readonly at: PageParameters }) => <Page title="Room" />;
