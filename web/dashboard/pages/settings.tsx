import type { PageParameters } from "../routes.tsx";
import { Page } from "../ui/page.tsx";

export const Settings = (_: { readonly at: PageParameters }) => <Page title="Settings" />;
