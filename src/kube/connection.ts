/** How to reach an API server and who to be there: what a kubeconfig or a Pod's mounts come down to. */

export interface Connection {
  /** "https://host:port", without a path unless the server stands behind one. */
  readonly server: string;
  /** PEM. Absent: the system's. */
  readonly ca?: string | Buffer;
  readonly cert?: string | Buffer;
  readonly key?: string | Buffer;
  /** Name to ask for and to check in the certificate, where it is not the host's. */
  readonly serverName?: string;
  /** Accepts any certificate. */
  readonly insecure?: boolean;
  readonly credentials: Credentials;
  /** Sent with every request, e.g. who to impersonate. */
  readonly headers?: Readonly<Record<string, string>>;
}

export type Credentials =
  | { readonly kind: "none" }
  | { readonly kind: "token"; readonly token: string }
  /** A file whose token is replaced as it gets old, as a Pod's is. */
  | { readonly kind: "tokenFile"; readonly path: string }
  | { readonly kind: "basic"; readonly username: string; readonly password: string }
  /** Asks whoever knows, e.g. a plugin; it keeps what it was told for as long as that holds. Rejects where it cannot tell. */
  | { readonly kind: "ask"; readonly authorization: () => Promise<string | undefined> };
