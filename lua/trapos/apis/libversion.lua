-- The version of these programs; whoever serves them puts the number in.
return "dev"
