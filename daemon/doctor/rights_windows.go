package doctor

// privateRights tells whether a file's mode says who may read it. Access control lists do here.
const privateRights = false
