# The target weft_same_tree fails where a copied build folder would build the sources of another tree: see same_tree.sh.
add_custom_target(weft_same_tree COMMAND sh ${CMAKE_CURRENT_LIST_DIR}/same_tree.sh ${PROJECT_BINARY_DIR}
                  COMMENT "Looking whose sources these are" VERBATIM)
