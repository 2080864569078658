declare const brand: unique symbol;

/** A value that only one parser can make: `Brand<string, 'Digest'>`. Brands add up: an agent id is a digest too. */
export type Brand<T, Name extends string> = T & { readonly [brand]: { readonly [K in Name]: true } };
