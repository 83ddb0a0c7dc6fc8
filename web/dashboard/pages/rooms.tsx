import type { PageParameters } from "../routes.tsx";
import { Page } from "../ui/page.tsx";

export const Rooms = (_: { readonly at: PageParameters }) => <Page title="Rooms" />;
